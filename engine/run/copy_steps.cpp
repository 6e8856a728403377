// Steps of an execution that copy, also from and to buffers of other ranks of this node.
#include <cerrno>

#include "base/error.hpp"
#include "engine/copying/copy.hpp"
#include "engine/run/executor.hpp"
#include "engine/views/cma.hpp"

namespace weft::engine {

using verbs::Layout;

namespace {
constexpr std::uint32_t kOutputBase = 1;
}

Layout Execution::layout(const Operand& operand, bool remote_key) const noexcept {
  const Base& base = bases_[operand.base];
  return {base.memory + operand.offset, operand.block_bytes, operand.count, operand.stride,
          remote_key ? base.rkey : base.lkey};
}

bool Execution::is_peer_buffer(const Operand& operand) const noexcept {
  return operand.base >= prepared_->program.input_base(0);
}

int Execution::owner_of(const Operand& operand) const noexcept {
  const Program& program = prepared_->program;
  return static_cast<int>((operand.base - program.input_base(0)) %
                          static_cast<std::uint32_t>(program.places()));
}

/// Sets the base of a peer's buffer. The peer has published its address, and a step that this one
/// depends on has heard of the peer since.
void Execution::find_peer_buffer(const Operand& operand) noexcept {
  const int place = owner_of(operand);
  const bool input = operand.base < prepared_->program.output_base(0);
  bases_[operand.base].memory =
      reinterpret_cast<std::byte*>(input ? executor_.node_->input_of(place, number_)
                                         : executor_.node_->output_of(place, number_));
}

/// The address at which this process loads and stores an operand; null: it cannot. The rank's own
/// memory is found as if by same_process.
PeerMemory::Found Execution::reach(const Operand& operand) noexcept {
  const bool is_peers = is_peer_buffer(operand);
  if (is_peers) find_peer_buffer(operand);
  const Layout there = layout(operand, false);
  if (!is_peers) return {there.base, View::same_process};
  return executor_.node_->peers().find(owner_of(operand), there);
}

bool Execution::copy_any(const Step& step) noexcept {
  const bool writes = is_peer_buffer(step.dst);
  const bool past = past_caches_ && (writes || step.dst.base == kOutputBase);
  if (!writes && !is_peer_buffer(step.src)) {
    engine::copy(layout(step.dst, false), layout(step.src, false), past);
    return true;
  }
  const Operand& theirs = writes ? step.dst : step.src;
  const PeerMemory::Found found = reach(theirs);
  Layout dst = layout(step.dst, false);
  Layout src = layout(step.src, false);
  (writes ? dst : src).base = found.memory;
  const auto in_place = [&] { engine::copy(dst, src, past); };
  bool done = found.memory != nullptr;
  if (done && found.by == View::xpmem) {
    done = executor_.node_->peers().attachments().reach(in_place);
  } else if (done) {
    in_place();
  }
  if (done) executor_.node_->peers().count_moved(found.by, theirs.bytes());
  return done || move_by_kernel(owner_of(theirs), layout(writes ? step.src : step.dst, false),
                                layout(theirs, false), writes);
}

/// Copies between buffers of this process and of another by cma, or by helper copies where the
/// kernel refuses, even if it did not refuse the probe.
bool Execution::move_by_kernel(int place, const Layout& ours, const Layout& theirs,
                               bool writes) noexcept {
  const pid_t process = executor_.node_->living_process(place);
  if (writes ? write_to(process, ours, theirs) : read_from(process, ours, theirs)) {
    executor_.node_->peers().count_moved(View::cma, theirs.bytes());
    return true;
  }
  const int error = errno;
  const bool is_there = error != ESRCH;
  if (is_there && executor_.copy_by_owner(place, ours, theirs, writes)) return true;
  executor_.poison(SystemError("process_vm_readv of a rank of this node", error).what());
  return false;
}

}  // namespace weft::engine
