#include "verbs/soft/shared_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "verbs/soft/layout.hpp"

namespace weft::soft {

namespace {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
};

/// One line of /proc/self/maps.
struct Area {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  bool readable = false;
  bool writable = false;
  bool shared = false;
  FileId file;
  std::array<char, 256> path{};
};

bool parse_area(const char* line, Area& area) {
  char mode[8] = {};
  unsigned long begin = 0, end = 0, offset = 0, inode = 0;
  unsigned major_number = 0, minor_number = 0;
  area.path[0] = '\0';
  const int fields = std::sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %255[^\n]", &begin, &end, mode,
                                 &offset, &major_number, &minor_number, &inode, area.path.data());
  if (fields < 7) return false;
  area.begin = begin;
  area.end = end;
  area.offset = offset;
  area.readable = mode[0] == 'r';
  area.writable = mode[1] == 'w';
  area.shared = mode[3] == 's';
  area.file = {makedev(major_number, minor_number), inode};
  return true;
}

bool is_file(int descriptor, const FileId& id) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_ino == id.inode &&
         status.st_dev == id.device;
}

bool allows(int descriptor, bool must_write) {
  const int mode = ::fcntl(descriptor, F_GETFL) & O_ACCMODE;
  return mode == O_RDWR || (mode == O_RDONLY && !must_write);
}

File find_open_descriptor(const FileId& id, bool must_write) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return {};
  while (const dirent* entry = ::readdir(directory.get())) {
    const int descriptor = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || !is_file(descriptor, id) || !allows(descriptor, must_write)) {
      continue;
    }
    return File(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  }
  return {};
}

File open_file(const Area& area, bool must_write) {
  File file = find_open_descriptor(area.file, must_write);
  if (file) return file;
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/map_files/%lx-%lx",
                static_cast<unsigned long>(area.begin), static_cast<unsigned long>(area.end));
  for (const char* path : {area.path.data(), static_cast<const char*>(link.data())}) {
    if (path[0] != '/') continue;
    // A device could act on being opened, and a file that is not ours might have taken the name.
    struct stat status {};
    if (::stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_ino != area.file.inode || status.st_dev != area.file.device) {
      continue;
    }
    file = File(::open(path, (must_write ? O_RDWR : O_RDONLY) | O_CLOEXEC));
    if (file && is_file(file.get(), area.file)) return file;
  }
  return {};
}

}  // namespace

RangeState inspect_range(std::uint64_t address, std::uint64_t bytes, bool must_write,
                         SharedFile& shared) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             std::fclose);
  if (!maps) return RangeState::ordinary;  // no /proc: nothing is known, nothing is refused
  std::array<char, 512> line{};
  Area first;
  std::uint64_t covered = address;
  bool one_file = true;
  while (covered < address + bytes && std::fgets(line.data(), line.size(), maps.get()) != nullptr) {
    Area area;
    if (!parse_area(line.data(), area) || area.end <= covered) continue;
    if (area.begin > covered || !area.readable || (must_write && !area.writable)) break;
    if (covered == address) {
      first = area;
      one_file = area.shared && area.file.inode != 0;
    } else {
      one_file = one_file && area.shared && area.file.inode == first.file.inode &&
                 area.file.device == first.file.device &&
                 area.offset - first.offset == area.begin - first.begin;
    }
    covered = area.end;
  }
  if (covered < address + bytes) return RangeState::unmapped;
  if (!one_file) return RangeState::ordinary;
  File file = open_file(first, must_write);
  if (!file) return RangeState::ordinary;
  shared.offset = first.offset + (address / kPage * kPage - first.begin);
  shared.file = std::make_shared<File>(std::move(file));
  return RangeState::shared;
}

}  // namespace weft::soft
