// The device of the kernel module of the xpmem project: a process lets others map its memory.
//
// Neither the kernel's headers nor Debian describe it. The numbers and structures here are those of
// the project's public interface (github.com/hpc/xpmem, include/xpmem.h and the module's ioctl
// handler). What its module's source says of use, and what follows for us:
// - It keeps what it knows by process, and forgets it all when *any* descriptor of the device that
//   the process has is closed, another library's too. So ours is opened once and never closed.
// - Mapped memory that goes away by munmap, or by another mapping over it, has the process killed:
//   only detach() may take it away.
// - Mapped memory is not inherited by children, and they have to open the device for themselves.
// - Pages come when they are first touched, and are looked up anew where their owner has changed
//   its mappings since. SIGBUS where there is none to be had: also when the owner has ended.
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

/// The two calls by which the device is reached; both as the system's, with errno.
struct Calls {
  int (*open)() noexcept;
  int (*ioctl)(int descriptor, Command command, void* argument) noexcept;
};
/// For tests: these in place of the system's, for processes that have not opened the device yet.
/// Returns those before.
Calls set_calls(const Calls& calls) noexcept;

/// By which others of this user get at all memory of this process: made when first asked for, and
/// once in a process. 0 with `why` in one line when there is no such device, or it refuses.
std::int64_t own_segment(std::string& why);

/// Access to another process's segment; 0 with errno when refused. This process has a segment too.
std::int64_t get(std::int64_t segment) noexcept;
void release(std::int64_t access) noexcept;
/// Maps `bytes` at `address` of the segment's owner, both multiples of a page; null with errno.
std::byte* attach(std::int64_t access, std::uint64_t address, std::size_t bytes) noexcept;
void detach(std::byte* attached) noexcept;

}  // namespace weft::engine::xpmem
