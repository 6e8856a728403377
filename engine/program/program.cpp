#include "engine/program/program.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::engine {

using plan::OpKind;
using plan::Slice;
using plan::Space;

Program::Program(const plan::Plan& plan, std::span<const int> place_of_rank, int places,
                 std::span<const InlineOp> inline_ops)
    : Program(plan, place_of_rank, places, inline_ops, find_folds(plan)) {}

Program::Program(const plan::Plan& plan, std::span<const int> place_of_rank, int places,
                 std::span<const InlineOp> inline_ops, std::vector<Fold> folds)
    : folds_(std::move(folds)),
      counts_(places),
      places_(places),
      input_bytes_(plan.input_bytes()),
      output_bytes_(plan.output_bytes()),
      stage_bytes_(plan.stage_bytes()),
      scratch_bytes_(plan.scratch_bytes()) {
  std::vector<std::uint32_t> number(static_cast<std::size_t>(plan.ranks()), kNone);  // in peers_
  for (const plan::Op& op : plan.ops()) {
    if (op.kind == OpKind::send || op.kind == OpKind::recv) number[op.peer] = 0;
  }
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    if (number[rank] == kNone) continue;
    number[rank] = static_cast<std::uint32_t>(peers_.size());
    peers_.push_back(rank);
  }
  std::vector<bool> heard(places);
  steps_.reserve(plan.ops().size());
  for (const plan::Op& op : plan.ops()) {
    Step& step = steps_.emplace_back();
    step.kind = op.kind;
    step.dst_operand = op.dst_operand;
    const int place = op.peer < 0 ? -1 : place_of_rank[op.peer];
    switch (op.kind) {
      case OpKind::send:
      case OpKind::recv:
        step.peer = number[op.peer];
        step.ordinal = transfers_++;
        if (op.kind == OpKind::recv && place >= 0) heard[place] = true;
        break;
      case OpKind::signal:
      case OpKind::wait:
        if (place < 0) {
          throw_usage("plan of rank {}: {} {} names a rank of another node", plan.rank(),
                      to_string(op.kind), op.peer);
        }
        step.peer = static_cast<std::uint32_t>(place);
        if (op.kind == OpKind::wait) heard[place] = true;
        signals_ |= op.kind == OpKind::signal;
        break;
      case OpKind::copy:
        break;
      case OpKind::reduce:
        reduces_ = true;
        break;
    }
    if (!op.dst.empty()) step.dst = resolve(plan, op.dst, place_of_rank);
    if (!op.src.empty()) step.src = resolve(plan, op.src, place_of_rank);
  }
  apply_inline_messages(inline_ops, place_of_rank, plan.rank());
  apply_folds();
  for (Step& step : steps_) step.small = may_be_small(step) && is_small(step);
  note_stages();
  heard[place_of_rank[plan.rank()]] = true;
  hears_all_ = std::ranges::find(heard, false) == heard.end();
  add_successors(plan);
  keep_list_order(plan);
}

bool Program::may_be_small(const Step& step) const {
  const std::uint32_t mapped = input_base(0);
  return step.kind == OpKind::copy && !step.deferred && step.fold == kNone && step.src.count == 1 &&
         step.dst.count == 1 && step.src.base < mapped && step.dst.base < mapped;
}

bool Program::is_small(const Step& step) noexcept {
  constexpr std::uint64_t kSmallBytes = 4 << 10;
  return step.src.block_bytes <= kSmallBytes;
}

void Program::move(std::uint32_t step, bool is_source, std::uint64_t offset,
                   std::uint64_t bytes) noexcept {
  Operand& operand = is_source ? steps_[step].src : steps_[step].dst;
  operand = {operand.base, offset, bytes, 1, bytes};
  steps_[step].small = may_be_small(steps_[step]) && is_small(steps_[step]);
}

void Program::apply_folds() {
  for (std::uint32_t number = 0; number < folds_.size(); ++number) {
    for (const std::uint32_t id : folds_[number]) steps_[id].deferred = true;
    Step& last = steps_[folds_[number].back()];
    last.deferred = false;
    last.fold = number;
  }
}

void Program::note_stages() {
  std::vector<bool> touched(places_);
  const auto note = [&](const Operand& operand) {
    if (operand.base >= stage_base(0) && operand.base < stage_base(places_)) {
      touched[operand.base - stage_base(0)] = true;
    }
  };
  for (const Step& step : steps_) {
    note(step.dst);
    note(step.src);
  }
  for (int place = 0; place < places_; ++place) {
    if (touched[place]) stages_.push_back(place);
  }
}

std::size_t Program::fold_sources() const {
  std::size_t most = 0;
  for (const Fold& fold : folds_) most = std::max(most, fold.size() + 1);
  return most;
}

/// Also numbers the waits for signals without bytes.
void Program::apply_inline_messages(std::span<const InlineOp> inline_ops,
                                    std::span<const int> place_of_rank, int rank) {
  const int own_place = place_of_rank[rank];
  for (const InlineOp& op : inline_ops) {
    Step& step = steps_[op.op];
    const Slice& bytes = op.bytes;
    Counts& counts = counts_[op.place];
    switch (op.part) {
      case InlineOp::Part::send:
        step.is_inline = true;
        step.ordinal = op.ordinal;
        step.src = {base_of_own(bytes.space, own_place), bytes.offset, bytes.block_bytes,
                    bytes.count, bytes.stride};
        ++counts.inline_out;
        break;
      case InlineOp::Part::wait:
        step.is_inline = true;
        step.ordinal = op.ordinal;
        ++counts.inline_in;
        incoming_.push_back({inline_base(op.place, op.ordinal), op.place, op.ordinal});
        break;
      case InlineOp::Part::read:
        step.src = {inline_base(op.place, op.ordinal), kInlineBytes - bytes.bytes(), bytes.bytes(),
                    1, bytes.bytes()};
        break;
      case InlineOp::Part::drop:
        step.deferred = true;
        step.dst = step.src = {};
        break;
    }
  }
  for (Step& step : steps_) {
    if (step.kind != OpKind::wait || step.is_inline) continue;
    step.ordinal = static_cast<std::uint32_t>(++counts_[step.peer].waits);
  }
}

std::uint32_t Program::base_of_own(Space space, int own_place) const {
  switch (space) {
    case Space::input:
      return 0;
    case Space::output:
      return 1;
    case Space::scratch:
      return 2;
    case Space::stage:
      break;
  }
  return stage_base(own_place);
}

Operand Program::resolve(const plan::Plan& plan, const plan::Slice& slice,
                         std::span<const int> place_of_rank) {
  Operand operand{0, slice.offset, slice.block_bytes, slice.count, slice.stride};
  const bool own = slice.owner == plan.rank();
  const int place = place_of_rank[slice.owner];
  if (place < 0 || (slice.space == Space::scratch && !own)) {
    throw_usage("plan of rank {}: {} is out of its reach", plan.rank(), to_string(slice));
  }
  const bool is_buffer = slice.space == Space::input || slice.space == Space::output;
  if (own || !is_buffer) {
    operand.base = base_of_own(slice.space, place);
  } else {
    operand.base = slice.space == Space::input ? input_base(place) : output_base(place);
    uses_peer_buffers_ = true;
  }
  return operand;
}

void Program::add_successors(const plan::Plan& plan) {
  const auto count = static_cast<std::uint32_t>(steps_.size());
  pending_.resize(count);
  // Steps outside a fold that depend on one of its steps depend on its last.
  std::vector<std::uint32_t> done_by(folds_.empty() ? 0 : count);
  std::iota(done_by.begin(), done_by.end(), 0u);
  for (const Fold& fold : folds_) {
    for (const std::uint32_t id : fold) done_by[id] = fold.back();
  }
  const auto for_each_edge = [&](auto found) {
    for (std::uint32_t id = 0; id < count; ++id) {
      for (const plan::OpId before : plan.after(id)) {
        const bool inside = done_by.empty() || done_by[before] == done_by[id];
        found(inside ? before : done_by[before], id);
      }
    }
  };
  std::vector<std::uint32_t> end(count);
  for_each_edge([&](std::uint32_t before, std::uint32_t) { ++end[before]; });
  std::uint32_t begin = 0;
  for (std::uint32_t id = 0; id < count; ++id) {
    pending_[id] = static_cast<std::uint32_t>(plan.after(id).size());
    steps_[id].first_successor = begin;
    begin += std::exchange(end[id], begin);
    steps_[id].end_successor = begin;
  }
  successors_.resize(begin);
  for_each_edge([&](std::uint32_t before, std::uint32_t id) { successors_[end[before]++] = id; });
}

/// Makes sends, recvs and signals to one peer start in list order. Waits need no order: each knows
/// the number of its signal.
void Program::keep_list_order(const plan::Plan& plan) {
  send_ends_.resize(peers_.size());
  recv_ends_.resize(peers_.size());
  signal_ends_.resize(static_cast<std::size_t>(places_));
  for (std::uint32_t id = 0; id < steps_.size(); ++id) {
    const Step& step = steps_[id];
    const bool ordered =
        step.kind == OpKind::send || step.kind == OpKind::recv || step.kind == OpKind::signal;
    if (!ordered) continue;
    auto& ends = step.kind == OpKind::send   ? send_ends_
                 : step.kind == OpKind::recv ? recv_ends_
                                             : signal_ends_;
    const std::uint32_t before = std::exchange(ends[step.peer].last, id);
    if (before == kNone) {
      ends[step.peer].first = id;
    } else if (!std::ranges::binary_search(plan.after(id), before)) {
      steps_[before].next = id;
      ++pending_[id];
    }
  }
  for (std::uint32_t id = 0; id < steps_.size(); ++id) {
    if (pending_[id] == 0) initial_.push_back(id);
  }
}

}  // namespace weft::engine
