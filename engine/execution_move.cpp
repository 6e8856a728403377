// An execution's steps that take no waiting: copies and reductions, also from and to the buffers
// of ranks of this node, where they lie.
#include <algorithm>
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

/// Whether a peer's bytes lie in its shared heap: `layout` says where this process finds them then.
bool Execution::is_in_heap(const Operand& operand, Layout& layout) noexcept {
  std::byte* found = home_.node_->find_in_heap(owner_of(operand), layout);
  home_.node_->count_moved(found != nullptr ? View::shared_heap : View::cma, layout.bytes());
  if (found == nullptr) return false;
  layout.base = found;
  return true;
}

bool Execution::copy_any(const Step& step) noexcept {
  const bool reads = is_peer_buffer(step.src);
  const bool writes = is_peer_buffer(step.dst);
  if (reads) find_peer_buffer(step.src);
  if (writes) find_peer_buffer(step.dst);
  Layout dst = layout(step.dst, false);
  Layout src = layout(step.src, false);
  if ((!reads && !writes) || home_.node_->view() == View::same_process ||
      (reads ? is_in_heap(step.src, src) : is_in_heap(step.dst, dst))) {
    engine::copy(dst, src, past_caches_ && (writes || step.dst.base == kOutputBase));
    return true;
  }
  return reads ? move(owner_of(step.src), dst, src, false)
               : move(owner_of(step.dst), src, dst, true);
}

/// Between buffers of this process and of another, by the kernel, or by the other where the kernel
/// refuses, whatever it said before.
bool Execution::move(int place, const Layout& ours, const Layout& theirs, bool writes) noexcept {
  const pid_t process = home_.node_->process_of(place);
  if (writes ? write_to(process, ours, theirs) : read_from(process, ours, theirs)) return true;
  const int error = errno;
  const bool is_there = error != ESRCH;
  if (is_there && home_.move_by_owner(place, ours, theirs, writes)) return true;
  home_.fail(SystemError("process_vm_readv of a rank of this node", error).what());
  return false;
}

/// Where this process reads it; null: not by plain loads.
const std::byte* Execution::reach(const Operand& source) noexcept {
  if (!is_peer_buffer(source)) return bases_[source.base] + source.offset;
  find_peer_buffer(source);
  const Layout there = layout(source, false);
  if (home_.node_->view() == View::same_process) return there.base;
  return home_.node_->find_in_heap(owner_of(source), there);
}

/// All steps of a fold. `step` is their last.
bool Execution::fold(const Step& step) noexcept {
  const auto steps = prepared_->program.steps();
  const auto members = prepared_->program.fold(step.fold);
  const Operation& operation = *buffers_.operation;
  std::byte* const to = bases_[step.dst.base] + step.dst.offset;
  std::size_t count = 0;
  bool reached = operation.fold != nullptr && !is_peer_buffer(step.dst);
  if (steps[members.front()].kind == plan::OpKind::reduce) fold_sources_[count++] = to;
  for (const std::uint32_t member : members) {
    if (!reached) break;
    fold_sources_[count] = reach(steps[member].src);
    reached = fold_sources_[count++] != nullptr;
  }
  if (!reached) {
    return std::ranges::all_of(members, [&](std::uint32_t member) {
      return steps[member].kind == plan::OpKind::copy ? copy(steps[member]) : reduce(steps[member]);
    });
  }
  for (const std::uint32_t member : members) {
    const Operand& source = steps[member].src;
    if (is_peer_buffer(source) && home_.node_->view() != View::same_process) {
      home_.node_->count_moved(View::shared_heap, source.bytes());
    }
  }
  operation.fold(operation.context, to, fold_sources_.data(), count,
                 step.dst.bytes() / operation.element_bytes);
  return true;
}

bool Execution::reduce(const Step& step) noexcept {
  const bool reads = is_peer_buffer(step.src);
  if (reads) find_peer_buffer(step.src);
  Fetch fetch;
  struct Source {
    Execution* execution;
    int place;
  } source{this, 0};
  Layout src = layout(step.src, false);
  if (reads && home_.node_->view() != View::same_process && !is_in_heap(step.src, src)) {
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
  return engine::reduce(*buffers_.operation, step.dst_operand, layout(step.dst, false), src, fetch);
}

}  // namespace weft::engine
