// Options of a test's endpoint, and the memory and addresses that it is made of.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::soft::test {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(20);

constexpr unsigned kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// The address of an endpoint, for the other end.
struct Address {
  std::uint32_t qp_num;
  std::uint16_t lid;
  ibv_gid gid;
  std::uint64_t buffer;
  std::uint32_t rkey;
};

struct Options {
  std::size_t bytes = 256 * 1024;
  bool shared_memory = false;  // the buffer lies in a memfd that peers can map
  unsigned access = kAllAccess;
  unsigned qp_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  ibv_qp_type type = IBV_QPT_RC;
  bool with_srq = false;
  bool with_channel = false;
  bool extended = false;  // ibv_wr_* interface
  std::uint32_t max_wr = 64;
  std::uint32_t max_sge = 4;
  std::uint8_t rnr_retry = 7;
  std::uint8_t retry_count = 1;
  std::uint8_t timeout = 10;  // 4 ms
  std::uint8_t min_rnr_timer = 1;
};

/// Memory for a buffer: private, or of a memfd, whose descriptor is closed again on request.
class Memory {
 public:
  Memory(std::size_t bytes, bool shared) : bytes_(bytes) {
    const int file = shared ? ::memfd_create("weft-test", MFD_CLOEXEC) : -1;
    if (shared) {
      EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
    }
    data_ =
        static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                       shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0));
    file_ = file;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    ::munmap(data_, bytes_);
    if (file_ >= 0) ::close(file_);
  }
  std::byte* data() const { return data_; }
  std::span<std::byte> all() const { return {data_, bytes_}; }

 private:
  std::byte* data_;
  std::size_t bytes_;
  int file_;
};

/// Bytes that differ by position and `seed`.
inline void fill(std::span<std::byte> memory, unsigned seed) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::byte>((i * 131 + seed * 29 + (i >> 8)) & 0xff);
  }
}

}  // namespace weft::soft::test
