#include "verbs/soft/process/shared_file.hpp"

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

#include "verbs/soft/segment/control_layout.hpp"

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

/// The end of the area in a line, without the rest: a process has hundreds.
std::uint64_t end_of_area(const char* line) {
  const char* dash = std::strchr(line, '-');
  return dash == nullptr ? 0 : std::strtoull(dash + 1, nullptr, 16);
}

bool names(const char* path, const FileId& id) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == id.inode &&
         status.st_dev == id.device;
}

bool is_file(int descriptor, const FileId& id) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_ino == id.inode && status.st_dev == id.device;
}

/// Opens what `path` names if that is the file `id`. The name may come to mean something else at
/// any time, which could even act on being opened; so it is looked at through O_PATH first.
File open_if(const char* path, const FileId& id, bool must_write) {
  if (!names(path, id)) return {};
  const File place(::open(path, O_PATH | O_CLOEXEC));
  if (!place || !is_file(place.get(), id)) return {};
  std::array<char, 32> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", place.get());
  return File(::open(link.data(), (must_write ? O_RDWR : O_RDONLY) | O_CLOEXEC));
}

/// Looks for the file among those that this process has open: the way to a memfd and to a file
/// without a name. Other threads open and close descriptors meanwhile, so theirs are never used,
/// only looked up by name and opened anew.
File open_again(const FileId& id, bool must_write) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return {};
  while (const dirent* entry = ::readdir(directory.get())) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%.16s", entry->d_name);
    File file = open_if(path.data(), id, must_write);
    if (file) return file;
  }
  return {};
}

File open_file(const Area& area, bool must_write) {
  File file = open_if(area.path.data(), area.file, must_write);
  if (!file) file = open_again(area.file, must_write);
  if (file) return file;
  // For the privileged only.
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/map_files/%lx-%lx",
                static_cast<unsigned long>(area.begin), static_cast<unsigned long>(area.end));
  return open_if(link.data(), area.file, must_write);
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
    if (end_of_area(line.data()) <= covered) continue;
    Area area;
    if (!parse_area(line.data(), area)) continue;
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
