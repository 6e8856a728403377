// An execution's copies, also from and to the buffers of ranks of this node, where they lie.
#include <cerrno>

#include "base/error.hpp"
#include "engine/memory/copy.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using verbs::Layout;

namespace {
constexpr std::uint32_t kOutputBase = 1;
}

Layout Execution::layout(const Operand& operand, bool remote_key) const noexcept {
  return {bases_[operand.base] + operand.offset, operand.block_bytes, operand.count, operand.stride,
          remote_key ? rkeys_[operand.base] : lkeys_[operand.base]};
}

bool Execution::is_peer_buffer(const Operand& operand) const noexcept {
  return operand.base >= prepared_->program.input_base(0);
}

int Execution::owner_of(const Operand& operand) const noexcept {
  const Program& program = prepared_->program;
  return static_cast<int>((operand.base - program.input_base(0)) %
                          static_cast<std::uint32_t>(program.places()));
}

/// The peer has published where its buffers are, and an op that this one follows came after that.
void Execution::find_peer_buffer(const Operand& operand) noexcept {
  const int place = owner_of(operand);
  const bool input = operand.base < prepared_->program.output_base(0);
  bases_[operand.base] = reinterpret_cast<std::byte*>(
      input ? home_.node_->input_of(place, number_) : home_.node_->output_of(place, number_));
}

/// For loads and stores of this process; null: not within their reach. What is this rank's own is
/// found as in the same process.
Node::Found Execution::reach(const Operand& operand) noexcept {
  const bool is_peers = is_peer_buffer(operand);
  if (is_peers) find_peer_buffer(operand);
  const Layout there = layout(operand, false);
  if (!is_peers) return {there.base, View::same_process};
  return home_.node_->find(owner_of(operand), there);
}

bool Execution::copy_any(const Step& step) noexcept {
  const bool writes = is_peer_buffer(step.dst);
  const bool past = past_caches_ && (writes || step.dst.base == kOutputBase);
  if (!writes && !is_peer_buffer(step.src)) {
    engine::copy(layout(step.dst, false), layout(step.src, false), past);
    return true;
  }
  const Operand& theirs = writes ? step.dst : step.src;
  const Node::Found found = reach(theirs);
  Layout dst = layout(step.dst, false);
  Layout src = layout(step.src, false);
  (writes ? dst : src).base = found.memory;
  const auto by_hand = [&] { engine::copy(dst, src, past); };
  bool done = found.memory != nullptr;
  if (done && found.by == View::xpmem) {
    done = home_.node_->attachments().reach(by_hand);
  } else if (done) {
    by_hand();
  }
  if (done) home_.node_->count_moved(found.by, theirs.bytes());
  return done || move(owner_of(theirs), layout(writes ? step.src : step.dst, false),
                      layout(theirs, false), writes);
}

/// Between buffers of this process and of another, by the kernel, or by the other where the kernel
/// refuses, whatever it said before.
bool Execution::move(int place, const Layout& ours, const Layout& theirs, bool writes) noexcept {
  const pid_t process = home_.node_->process_of(place);
  if (writes ? write_to(process, ours, theirs) : read_from(process, ours, theirs)) {
    home_.node_->count_moved(View::cma, theirs.bytes());
    return true;
  }
  const int error = errno;
  const bool is_there = error != ESRCH;
  if (is_there && home_.move_by_owner(place, ours, theirs, writes)) return true;
  home_.fail(SystemError("process_vm_readv of a rank of this node", error).what());
  return false;
}

}  // namespace weft::engine
