// Learns of memory that goes away under a registration.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/file.hpp"

namespace weft::verbs {

/// Tells listeners which of the watched memory is gone: unmapped, moved or given back, by whoever
/// in this process (munmap, mremap, madvise, brk; also deep inside free()). By Linux's userfaultfd,
/// whose events hold up the caller until they were read; a thread reads them.
///
/// Anonymous and shared memory can be watched, private mappings of files (a program's initialized
/// data) cannot. A child of fork() watches nothing.
class MemoryWatch {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    /// From the watch's thread. Must neither allocate nor free: that could wait for this thread.
    virtual void gone(std::uintptr_t begin, std::uintptr_t end) noexcept = 0;

   private:
    friend class MemoryWatch;
    Listener* next_ = nullptr;
  };

  /// The watch of this process, made when first asked for and gone with its last user. SystemError
  /// where the kernel refuses (a seccomp filter, a kernel without it).
  static std::shared_ptr<MemoryWatch> get();
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  void add(Listener& listener) noexcept;
  void remove(Listener& listener) noexcept;

  /// Watches all pages of [begin, end) from now on. False when some cannot be.
  bool watch(std::uintptr_t begin, std::uintptr_t end) noexcept;

  /// After this the listeners know of all that went away before.
  void settle() const noexcept {
    while ((turn_.load(std::memory_order_seq_cst) & 1) != 0) std::this_thread::yield();
  }

 private:
  void run() noexcept;
  void read_events() noexcept;

  File events_;
  File stop_;  // an eventfd, to wake the thread
  std::atomic<bool> ends_{false};
  std::mutex listeners_mutex_;
  Listener* listeners_ = nullptr;
  // Odd while events are being read. It turns odd before the first is, so before the call that
  // caused it may return.
  std::atomic<std::uint32_t> turn_{0};
  std::thread thread_;
};

}  // namespace weft::verbs
