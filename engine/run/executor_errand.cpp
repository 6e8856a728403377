// Buffers of ranks of this node that the kernel does not let this one reach after all: their owners
// copy them, a piece at a time. An owner is there as long as its buffers are used, and serves while
// it waits; so does who asks, as two may ask each other.
#include <sched.h>

#include <algorithm>

#include "engine/run/executor.hpp"

namespace weft::engine {

namespace {
constexpr std::uint32_t kTurnsPerLook = 1024;
}

template <class Ready>
bool Executor::serve_until(Ready ready) noexcept {
  idle_since_ns_ = 0;
  for (std::uint32_t turn = 1; !ready(); ++turn) {
    if (node_->errand(node_->place()).serve()) continue;
    if (crowded_) {
      ::sched_yield();
    } else {
      relax();
    }
    if (turn % kTurnsPerLook == 0 && !look_around()) return false;
  }
  return true;
}

bool Executor::move_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                             bool writes) noexcept {
  Errand& errand = node_->errand(place);
  for (std::uint64_t at = 0; at < theirs.bytes();) {
    const std::uint64_t block = at / theirs.block_bytes;
    const std::uint64_t within = at - block * theirs.block_bytes;
    const std::uint64_t piece =
        std::min<std::uint64_t>(theirs.block_bytes - within, Errand::kBytes);
    if (!serve_until([&]() noexcept { return errand.hold(); })) return false;
    if (writes) verbs::copy_out(ours, at, errand.memory.data(), piece);
    errand.ask(reinterpret_cast<std::uint64_t>(theirs.base + block * theirs.stride + within), piece,
               writes);
    node_->doorbell(place).wake();
    if (!serve_until([&]() noexcept { return errand.is_done(); })) return false;
    if (!writes) verbs::copy_in(ours, at, errand.memory.data(), piece);
    errand.let_go();
    at += piece;
  }
  node_->count_moved(View::staged, theirs.bytes());
  return true;
}

}  // namespace weft::engine
