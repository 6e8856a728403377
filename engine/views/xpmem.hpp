// Binding to the device of the xpmem project's kernel module, by which processes map each other's
// memory.
//
// Neither the kernel's headers nor Debian describe it. The numbers and structures here are those of
// the project's public interface (github.com/hpc/xpmem, include/xpmem.h and the module's ioctl
// handler). From the module's source:
// - It keeps its state by process, and drops all of it when *any* descriptor of the device that the
//   process has is closed, another library's too. So ours is opened once and never closed.
// - A process that unmaps such memory by munmap, or maps something else over it, is killed: only
//   detach() may unmap it.
// - Children do not inherit such mappings, and have to open the device for themselves.
// - Pages are found when they are first touched, and again where their owner has changed its
//   mappings since. A touch raises SIGBUS where there is no page, also when the owner has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::engine::xpmem {

inline constexpr const char* kDevice = "/dev/xpmem";

/// Commands, of ioctl type 'x', without size or direction.
enum class Command : unsigned long {
  version = 0x7800,  // returns it
  make = 0x7801,
  get = 0x7803,
  release = 0x7804,
  attach = 0x7805,
  detach = 0x7806,
};

struct Make {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::int32_t permit_type = 0;
  std::uint64_t permit_value = 0;
  std::int64_t segment = 0;  // out
};
struct Get {
  std::int64_t segment = 0;
  std::int32_t flags = 0;
  std::int32_t permit_type = 0;
  std::uint64_t permit_value = 0;
  std::int64_t access = 0;  // out
};
struct Release {
  std::int64_t access = 0;
};
struct Attach {
  std::int64_t access = 0;
  std::int64_t offset = 0;  // in the segment
  std::size_t bytes = 0;
  std::uint64_t address = 0;  // in: wanted, 0: any; out
  std::int32_t descriptor = 0;
  std::int32_t flags = 0;
};
struct Detach {
  std::uint64_t address = 0;
};
static_assert(sizeof(Make) == 40 && sizeof(Get) == 32 && sizeof(Attach) == 40);

inline constexpr std::int32_t kPermitMode = 1;  // permit_value: of chmod; 0 to get
inline constexpr std::int32_t kReadWrite = 2;
inline constexpr std::size_t kWholeMemory = SIZE_MAX;

/// The two system calls to the device, with errno.
struct Calls {
  int (*open)() noexcept;
  int (*ioctl)(int descriptor, Command command, void* argument) noexcept;
};
/// For tests: replaces the system calls, in a process that has not opened the device yet. Returns
/// the previous ones.
Calls set_calls(const Calls& other) noexcept;

/// The segment by which other processes of this user map all memory of this one; made at the first
/// call in a process. 0 with `why` in one line when there is no such device, or it refuses.
std::int64_t own_segment(std::string& why);

/// Access to another process's segment; 0 with errno when refused. This process has a segment too.
std::int64_t get(std::int64_t segment) noexcept;
void release(std::int64_t access) noexcept;
/// Maps `bytes` at `address` of the segment's owner, both multiples of a page; null with errno.
std::byte* attach(std::int64_t access, std::uint64_t address, std::size_t bytes) noexcept;
void detach(std::byte* attached) noexcept;

}  // namespace weft::engine::xpmem
