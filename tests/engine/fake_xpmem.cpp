#include "tests/engine/fake_xpmem.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "base/error.hpp"

namespace weft::test {

namespace xpmem = engine::xpmem;

namespace {

constexpr std::uint64_t kPage = 4096;

struct State {
  std::mutex mutex;
  pid_t process = 0;                    // that has opened the device
  std::int64_t granted = 0;             // the last access
  std::map<std::int64_t, pid_t> owner;  // by access
  // Bytes by address; 0: no more. Detaching is done by a signal's handler, too, where nothing may
  // be freed.
  std::map<std::uint64_t, std::size_t> mapped;
  int attaches = 0;
  int refusal = 0;
  std::uint64_t most_bytes = UINT64_MAX;
  std::string broken_rule;
};

State& state() {
  static State one;
  return one;
}

int fail(int error) {
  errno = error;
  return -1;
}

int break_rule(std::string_view rule) {
  state().broken_rule = rule;
  return fail(EINVAL);
}

File open_file_of(pid_t process, std::uint64_t inode) {
  std::error_code error;
  const auto folder = fmt::format("/proc/{}/fd", process);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) != 0 || status.st_ino != inode) continue;
    return File(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
  }
  return File();
}

/// Puts what lies in memory files of [begin, end) of a process at `memory`.
void map_files(pid_t process, std::uint64_t begin, std::uint64_t end, std::byte* memory) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0, offset = 0, inode = 0;
    char shared = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*3c%c %lx %*s %lu", &from, &to, &shared, &offset,
                    &inode) != 5) {
      continue;
    }
    if (shared != 's' || to <= begin || from >= end) continue;
    const File file = open_file_of(process, inode);
    if (!file) continue;
    const std::uint64_t first = std::max<std::uint64_t>(from, begin);
    const std::uint64_t last = std::min<std::uint64_t>(to, end);
    ::mmap(memory + (first - begin), last - first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           file.get(), static_cast<off_t>(offset + (first - from)));
  }
}

int attach(xpmem::Attach& wanted) {
  const auto owner = state().owner.find(wanted.access);
  const auto offset = static_cast<std::uint64_t>(wanted.offset);
  if (owner == state().owner.end()) return break_rule("attach without access");
  if (offset % kPage != 0 || wanted.bytes % kPage != 0) return break_rule("not of whole pages");
  if (wanted.bytes > state().most_bytes) return fail(ENOMEM);
  if (::kill(owner->second, 0) != 0) return fail(ENOENT);
  // An empty file: SIGBUS wherever nothing else is put.
  const File nothing(::memfd_create("no-pages", MFD_CLOEXEC));
  void* memory =
      ::mmap(nullptr, wanted.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, nothing.get(), 0);
  if (memory == MAP_FAILED) return fail(ENOMEM);
  map_files(owner->second, offset, offset + wanted.bytes, static_cast<std::byte*>(memory));
  wanted.address = reinterpret_cast<std::uint64_t>(memory);
  state().mapped[wanted.address] = wanted.bytes;
  ++state().attaches;
  return 0;
}

int detach(std::uint64_t address) {
  const auto found = state().mapped.find(address);
  if (found == state().mapped.end() || found->second == 0) {
    return break_rule("detach of what is not attached");
  }
  ::munmap(reinterpret_cast<void*>(address), found->second);
  found->second = 0;
  return 0;
}

int open_device() noexcept {
  if (state().refusal != 0) return fail(state().refusal);
  state().process = ::getpid();
  return 1000;
}

int call_device(int /*descriptor*/, xpmem::Command command, void* argument) noexcept {
  const std::lock_guard lock(state().mutex);
  if (state().process != ::getpid()) return break_rule("opened by another process");
  switch (command) {
    case xpmem::Command::version:
      return 0x26003;
    case xpmem::Command::make: {
      auto& make = *static_cast<xpmem::Make*>(argument);
      if (make.permit_type != xpmem::kPermitMode || make.permit_value > 0777) return fail(EINVAL);
      make.segment = (std::int64_t{1} << 32) + ::getpid();
      return 0;
    }
    case xpmem::Command::get: {
      auto& get = *static_cast<xpmem::Get*>(argument);
      if (state().refusal != 0) return fail(state().refusal);
      if (get.permit_value != 0 || get.flags != xpmem::kReadWrite) return break_rule("get");
      get.access = ++state().granted;
      state().owner[get.access] = static_cast<pid_t>(get.segment & 0x7fffffff);
      return 0;
    }
    case xpmem::Command::release:
      return state().owner.erase(static_cast<xpmem::Release*>(argument)->access) == 1
                 ? 0
                 : break_rule("release of what was not got");
    case xpmem::Command::attach:
      return attach(*static_cast<xpmem::Attach*>(argument));
    case xpmem::Command::detach:
      return detach(static_cast<xpmem::Detach*>(argument)->address);
  }
  return fail(EINVAL);
}

}  // namespace

FakeXpmem::FakeXpmem() : before_(xpmem::set_calls({&open_device, &call_device})) {}

FakeXpmem::~FakeXpmem() {
  xpmem::set_calls(before_);
}

int FakeXpmem::attached() {
  return static_cast<int>(
      std::ranges::count_if(state().mapped, [](const auto& piece) { return piece.second != 0; }));
}

int FakeXpmem::attaches() {
  return state().attaches;
}

std::string FakeXpmem::broken_rule() {
  return state().broken_rule;
}

void FakeXpmem::refuse(int error) {
  state().refusal = error;
}

void FakeXpmem::set_most_bytes(std::uint64_t bytes) {
  state().most_bytes = bytes;
}

XpmemBuffer::XpmemBuffer(std::size_t bytes) : file_(::memfd_create("xpmem-buffer", MFD_CLOEXEC)) {
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) throw_errno("memfd");
  mapping_ = Mapping(file_.get(), bytes);
}

void XpmemBuffer::lose_pages() {
  if (::ftruncate(file_.get(), 0) != 0) throw_errno("ftruncate");
}

}  // namespace weft::test
