#include "mpi/fibers/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/call_mutex.hpp"
#include "base/cast.hpp"
#include "base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::mpi {

namespace context = boost::context::detail;

namespace {

// Enough for the simulation that chooses an algorithm and for the loader that opens a library.
constexpr std::size_t kLeastBytes = 1 << 20;
constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::size_t kMostSpare = 16;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Operations of programs may use as much as on the program's own stack, which is address space,
/// and memory as far as it is touched. Little where the address space is bounded.
std::size_t bytes_by_limits() {
  rlimit space{}, stack{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY ||
      ::getrlimit(RLIMIT_STACK, &stack) != 0) {
    return kLeastBytes;
  }
  const auto bytes = std::clamp<rlim_t>(stack.rlim_cur, kLeastBytes, kMostBytes);
  return static_cast<std::size_t>(bytes) / page_bytes() * page_bytes();
}

struct Spare {
  CallMutex mutex;
  std::vector<void*> stacks;
};

// Never destroyed: fibers may end late.
Spare& spare() {
  static auto* one = new Spare;
  return *one;
}

/// What the C++ runtime knows of the exceptions that a thread handles (Itanium C++ ABI, 2.2.2).
struct Exceptions {
  void* caught = nullptr;
  unsigned int uncaught = 0;

  /// Exchanges these with the thread's.
  void swap() noexcept {
    auto* of_thread = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    std::swap(caught, of_thread->caught);
    std::swap(uncaught, of_thread->uncaught);
  }
};

}  // namespace

FiberStack::FiberStack() {
  {
    const std::lock_guard lock(spare().mutex);
    if (!spare().stacks.empty()) {
      memory_ = spare().stacks.back();
      spare().stacks.pop_back();
#if defined(__SANITIZE_ADDRESS__)
      // The frame that is left for good keeps its marks.
      __asan_unpoison_memory_region(top() - bytes(), bytes());
#endif
      return;
    }
  }
  const std::size_t all = bytes() + page_bytes();
  memory_ = ::mmap(nullptr, all, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory_ == MAP_FAILED) throw_errno("mmap(stack of a fiber)");
  if (::mprotect(memory_, page_bytes(), PROT_NONE) != 0) {
    const int error = errno;
    ::munmap(memory_, all);
    throw SystemError("mprotect(page below the stack of a fiber)", error);
  }
}

FiberStack::~FiberStack() {
  {
    const std::lock_guard lock(spare().mutex);
    if (spare().stacks.size() < kMostSpare) {
      spare().stacks.push_back(memory_);
      return;
    }
  }
  ::munmap(memory_, bytes() + page_bytes());
}

std::byte* FiberStack::top() const noexcept {
  return static_cast<std::byte*>(memory_) + page_bytes() + bytes();
}

std::size_t FiberStack::bytes() noexcept {
  static const std::size_t once = bytes_by_limits();
  return once;
}

/// The two ends of a switch, and what sanitizers must be told of it.
struct Fiber::Switch {
  context::fcontext_t fiber = nullptr;
  context::fcontext_t resumer = nullptr;
  Exceptions exceptions;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;  // of the side that is left
  const void* resumer_bottom = nullptr;
  std::size_t resumer_bytes = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* own = __tsan_create_fiber(0);
  void* resumer_thread = nullptr;
  ~Switch() {
    __tsan_destroy_fiber(own);
  }
#endif

  /// Before the fiber is entered, by its resumer.
  void leave_resumer([[maybe_unused]] const FiberStack& stack, [[maybe_unused]] void** fake) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fake, stack.top() - FiberStack::bytes(), FiberStack::bytes());
#endif
#if defined(__SANITIZE_THREAD__)
    resumer_thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own, 0);
#endif
  }
  /// After the fiber has been left.
  void enter_resumer([[maybe_unused]] void* fake) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  /// Before the fiber is left; `ends`: for good.
  void leave_fiber([[maybe_unused]] bool ends) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack, resumer_bottom, resumer_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(resumer_thread, 0);
#endif
  }
  /// When the fiber goes on, or begins.
  void enter_fiber() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, &resumer_bottom, &resumer_bytes);
#endif
  }

  static void run(context::transfer_t from) {
    auto& fiber = *static_cast<Fiber*>(from.data);
    fiber.switch_->resumer = from.fctx;
    fiber.switch_->enter_fiber();
    fiber.work_();
    fiber.work_ = nullptr;
    fiber.done_ = true;
    fiber.switch_->leave_fiber(true);
    context::jump_fcontext(fiber.switch_->resumer, nullptr);
  }
};

Fiber::Fiber(std::function<void()> work) : work_(std::move(work)) {
  constexpr std::size_t kOfSwitch = round_up(sizeof(Switch), std::size_t{64});
  std::byte* const top = stack_.top() - kOfSwitch;
  switch_ = new (top) Switch;
  switch_->fiber = context::make_fcontext(top, FiberStack::bytes() - kOfSwitch, &Switch::run);
}

Fiber::~Fiber() {
  switch_->~Switch();
}

void Fiber::resume() noexcept {
  WayGiver* former = WayGiver::exchange(this);
  switch_->exceptions.swap();
  void* fake_stack = nullptr;
  switch_->leave_resumer(stack_, &fake_stack);
  switch_->fiber = context::jump_fcontext(switch_->fiber, this).fctx;
  switch_->enter_resumer(fake_stack);
  switch_->exceptions.swap();
  WayGiver::exchange(former);
}

void Fiber::give_way() noexcept {
  switch_->leave_fiber(false);
  switch_->resumer = context::jump_fcontext(switch_->resumer, nullptr).fctx;
  switch_->enter_fiber();
}

}  // namespace weft::mpi
