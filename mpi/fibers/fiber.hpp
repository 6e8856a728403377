// Fiber: work with a stack of its own, which goes on where it gave way.
//
// The switch is Boost.Context's fcontext, linked statically: two functions in assembler, without a
// system call. What belongs to a thread and must go along with the work is saved at each switch:
// the exceptions that it is handling, and WayGiver::current().
#pragma once

#include <cstddef>
#include <functional>

#include "base/give_way.hpp"

namespace weft::mpi {

/// Memory for a stack, with a page below it that faults; reused. Safe from many threads.
class FiberStack {
 public:
  /// SystemError when there is no memory.
  FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;
  ~FiberStack();

  std::byte* top() const noexcept;
  static std::size_t bytes() noexcept;

 private:
  void* memory_;
};

/// resume() may be called by different threads, by one at a time.
class Fiber final : public WayGiver {
 public:
  /// `work` throws nothing. SystemError when there is no memory for a stack.
  explicit Fiber(std::function<void()> work);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Only before the first resume() or when the work is done: what is on the stack is not unwound.
  ~Fiber();

  /// Runs the work until it gives way or ends. Not from a fiber.
  void resume() noexcept;
  bool is_done() const noexcept { return done_; }

  /// By the work.
  void give_way() noexcept override;

 private:
  struct Switch;

  std::function<void()> work_;
  FiberStack stack_;
  bool done_ = false;
  Switch* switch_;  // at the top of the stack
};

}  // namespace weft::mpi
