#include "engine/views/xpmem.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace weft::engine::xpmem {

namespace {

int open_device() noexcept {
  return ::open(kDevice, O_RDWR | O_CLOEXEC);
}

int call_device(int descriptor, Command command, void* argument) noexcept {
  return ::ioctl(descriptor, static_cast<unsigned long>(command), argument);
}

Calls calls{&open_device, &call_device};

/// Of this process, or of the parent that it was forked from: then it is of no use here.
struct Mine {
  std::mutex mutex;
  pid_t process = 0;
  int descriptor = -1;  // never closed: see above
  std::int64_t segment = 0;
  std::string why;
};

Mine& mine() {
  static auto& one = *new Mine;  // programs end in any order
  return one;
}

std::string open_and_make(Mine& one) {
  one.descriptor = calls.open();
  if (one.descriptor < 0) {
    return errno == ENOENT ? fmt::format("no {}", kDevice)
                           : SystemError(fmt::format("open({})", kDevice), errno).what();
  }
  if (calls.ioctl(one.descriptor, Command::version, nullptr) < 0) {
    return SystemError(fmt::format("version of {}", kDevice), errno).what();
  }
  Make make{.bytes = kWholeMemory, .permit_type = kPermitMode, .permit_value = 0600};
  if (calls.ioctl(one.descriptor, Command::make, &make) < 0) {
    return SystemError(fmt::format("a segment of {}", kDevice), errno).what();
  }
  one.segment = make.segment;
  return {};
}

int call(Command command, void* argument) noexcept {
  return calls.ioctl(mine().descriptor, command, argument);
}

}  // namespace

Calls set_calls(const Calls& other) noexcept {
  return std::exchange(calls, other);
}

std::int64_t own_segment(std::string& why) {
  Mine& one = mine();
  const std::lock_guard lock(one.mutex);
  if (one.process != ::getpid()) {
    one.process = ::getpid();
    one.segment = 0;
    one.why = open_and_make(one);
  }
  why = one.why;
  return one.segment;
}

std::int64_t get(std::int64_t segment) noexcept {
  Get get{.segment = segment, .flags = kReadWrite, .permit_type = kPermitMode};
  return call(Command::get, &get) < 0 ? 0 : get.access;
}

void release(std::int64_t access) noexcept {
  Release release{access};
  call(Command::release, &release);
}

std::byte* attach(std::int64_t access, std::uint64_t address, std::size_t bytes) noexcept {
  Attach attach{
      .access = access, .offset = static_cast<std::int64_t>(address), .bytes = bytes, .flags = 0};
  if (call(Command::attach, &attach) < 0) return nullptr;
  return reinterpret_cast<std::byte*>(attach.address);
}

void detach(std::byte* attached) noexcept {
  Detach detach{reinterpret_cast<std::uint64_t>(attached)};
  call(Command::detach, &detach);
}

}  // namespace weft::engine::xpmem
