// An execution's steps that take no waiting: copies and reductions, also from and to the buffers
// of ranks of this node, where they lie.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "engine/copy.hpp"
#include "engine/executor.hpp"
#include "engine/reduce.hpp"

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

/// What a reduction takes of a peer, for loads of this process; null: not all of it within reach. A
/// reduction cannot be done again when it has begun: nothing may be found missing on the way.
Node::Found Execution::reach_all(const Operand& source) noexcept {
  Node::Found found = reach(source);
  if (found.memory == nullptr || found.by != View::xpmem) return found;
  Layout there = layout(source, false);
  there.base = found.memory;
  if (!home_.node_->attachments().touch(there)) found.memory = nullptr;
  return found;
}

/// Does what reads peers' memory, perhaps where xpmem maps it, and is not to be done twice.
template <class Use>
bool Execution::combine(bool maps, Use use) noexcept {
  if (!maps) {
    use();
    return true;
  }
  if (home_.node_->attachments().reach(use)) return true;
  home_.fail("the memory of a rank of this node was gone in the middle of a reduction");
  return false;
}

/// All steps of a fold. `step` is their last.
bool Execution::fold(const Step& step) noexcept {
  const auto steps = prepared_->program.steps();
  const auto members = prepared_->program.fold(step.fold);
  const Operation& operation = *buffers_.operation;
  std::byte* const to = bases_[step.dst.base] + step.dst.offset;
  std::size_t count = 0;
  std::array<std::uint64_t, kViews> bytes = {};
  bool reached = operation.fold != nullptr && !is_peer_buffer(step.dst);
  if (steps[members.front()].kind == plan::OpKind::reduce) fold_sources_[count++] = to;
  for (const std::uint32_t member : members) {
    if (!reached) break;
    const Node::Found found = reach_all(steps[member].src);
    fold_sources_[count++] = found.memory;
    if (is_peer_buffer(steps[member].src)) bytes[index_of(found.by)] += steps[member].src.bytes();
    reached = found.memory != nullptr;
  }
  if (!reached) {
    return std::ranges::all_of(members, [&](std::uint32_t member) {
      return steps[member].kind == plan::OpKind::copy ? copy(steps[member]) : reduce(steps[member]);
    });
  }
  for (std::size_t view = 0; home_.node_ != nullptr && view < kViews; ++view) {
    home_.node_->count_moved(static_cast<View>(view), bytes[view]);
  }
  return combine(bytes[index_of(View::xpmem)] != 0, [&] {
    operation.fold(operation.context, to, fold_sources_.data(), count,
                   step.dst.bytes() / operation.element_bytes);
  });
}

bool Execution::reduce(const Step& step) noexcept {
  const Layout dst = layout(step.dst, false);
  Layout src = layout(step.src, false);
  if (!is_peer_buffer(step.src)) {
    return engine::reduce(*buffers_.operation, step.dst_operand, dst, src);
  }
  Fetch fetch;
  struct Source {
    Execution* execution;
    int place;
  } source{this, 0};
  const Node::Found found = reach_all(step.src);
  src = layout(step.src, false);  // where it lies is known now
  if (found.memory != nullptr) {
    src.base = found.memory;
    home_.node_->count_moved(found.by, src.bytes());
  } else {
    // Out of another process: a piece at a time, that stays in the cache on its way.
    source.place = owner_of(step.src);
    if (operand_.size() < buffers_.operation->element_bytes)
      operand_.resize(buffers_.operation->element_bytes);
    fetch.context = &source;
    fetch.piece = operand_.size();
    fetch.call = [](void* context, const std::byte* theirs, std::uint64_t bytes) {
      const auto& from = *static_cast<Source*>(context);
      std::byte* ours = from.execution->operand_.data();
      const Layout there{const_cast<std::byte*>(theirs), bytes, 1, bytes, 0};
      const bool good = from.execution->move(from.place, {ours, bytes, 1, bytes, 0}, there, false);
      return good ? static_cast<const std::byte*>(ours) : nullptr;
    };
  }
  bool fetched = true;
  const auto all = [&] {
    fetched = engine::reduce(*buffers_.operation, step.dst_operand, dst, src, fetch);
  };
  return combine(found.memory != nullptr && found.by == View::xpmem, all) && fetched;
}

}  // namespace weft::engine
