// The executor's helper copies: where the kernel refuses to copy from or to the buffer of a rank of
// this node, that rank copies, a piece at a time. It is in the same call as long as its buffers are
// used, and serves requests while it waits. The rank that requests a copy serves too while it
// waits, as two ranks may request copies of each other.
#include <sched.h>

#include <algorithm>

#include "base/give_way.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

namespace {
constexpr std::uint32_t kTurnsPerTimedWork = 1024;
}

template <class Ready>
bool Executor::serve_until(Ready ready) noexcept {
  wait_.since_ns = 0;
  for (std::uint32_t turn = 1; !ready(); ++turn) {
    if (node_->helper_copy(node_->place()).serve()) continue;
    if (gives_way()) {
      is_in_step_ = true;
      let_others_run();
      is_in_step_ = false;
    } else if (crowded_) {
      ::sched_yield();
    } else {
      relax();
    }
    if (turn % kTurnsPerTimedWork == 0 && !do_timed_work()) return false;
  }
  return true;
}

bool Executor::copy_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                             bool writes) noexcept {
  HelperCopy& helper = node_->helper_copy(place);
  for (std::uint64_t at = 0; at < theirs.bytes();) {
    const std::uint64_t block = at / theirs.block_bytes;
    const std::uint64_t within = at - block * theirs.block_bytes;
    const std::uint64_t piece =
        std::min<std::uint64_t>(theirs.block_bytes - within, HelperCopy::kBytes);
    if (!serve_until([&]() noexcept { return helper.try_lock(); })) return false;
    if (writes) verbs::copy_out(ours, at, helper.memory.data(), piece);
    helper.request(reinterpret_cast<std::uint64_t>(theirs.base + block * theirs.stride + within),
                   piece, writes);
    node_->doorbell(place).wake();
    if (!serve_until([&]() noexcept { return helper.is_done(); })) return false;
    if (!writes) verbs::copy_in(ours, at, helper.memory.data(), piece);
    helper.unlock();
    at += piece;
  }
  node_->peers().count_moved(View::staged, theirs.bytes());
  return true;
}

}  // namespace weft::engine
