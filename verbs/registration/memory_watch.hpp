// Memory watch: reports memory that is unmapped while it is registered.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/file.hpp"

namespace weft::verbs {

/// Tells listeners which parts of the watched memory are gone: unmapped, moved or returned to the
/// kernel by any thread of this process (munmap, mremap, madvise, brk; also inside free()). Uses
/// Linux's userfaultfd, whose events block the caller until a thread of the watch has read them.
///
/// Anonymous and shared memory can be watched, private mappings of files (a program's initialized
/// data) cannot. A child of fork() watches nothing.
class MemoryWatch {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    /// Called by the watch's thread. Must neither allocate nor free: that could wait for this
    /// thread.
    virtual void gone(std::uintptr_t begin, std::uintptr_t end) noexcept = 0;

   private:
    friend class MemoryWatch;
    Listener* next_ = nullptr;
  };

  /// The watch of this process, shared by its users. SystemError where the kernel refuses (a
  /// seccomp filter, a kernel without userfaultfd).
  static std::shared_ptr<MemoryWatch> get();
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  void add(Listener& listener) noexcept;
  void remove(Listener& listener) noexcept;

  /// Watches all pages of [begin, end) from now on. False when some cannot be watched.
  bool watch(std::uintptr_t begin, std::uintptr_t end) noexcept;

  /// Returns when the listeners have been told of all memory that went away before the call.
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
  // Odd while events are being read. It becomes odd before the first event is read, and so before
  // the call that caused the event returns.
  std::atomic<std::uint32_t> turn_{0};
  std::thread thread_;
};

}  // namespace weft::verbs
