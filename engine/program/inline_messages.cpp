#include "engine/program/inline_messages.hpp"

#include <algorithm>
#include <utility>

namespace weft::engine {

using plan::Op;
using plan::OpId;
using plan::OpKind;
using plan::Plan;
using plan::Slice;
using plan::Space;

namespace {

std::vector<OpId> ops_to(const Plan& plan, OpKind kind, int peer) {
  std::vector<OpId> found;
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    const Op& op = plan.ops()[id];
    if (op.kind == kind && op.peer == peer) found.push_back(id);
  }
  return found;
}

/// True when `touched` has bytes between the first and the last of `slice`.
bool comes_near(const Slice& touched, const Slice& slice) {
  return touched.space == slice.space && touched.owner == slice.owner && !touched.empty() &&
         touched.offset < slice.end() && slice.offset < touched.end();
}

/// The ops of a plan that `id` depends on, directly or not.
std::vector<bool> before(const Plan& plan, OpId id) {
  std::vector<bool> found(plan.ops().size());
  std::vector<OpId> open = {id};
  while (!open.empty()) {
    const OpId at = open.back();
    open.pop_back();
    for (const OpId earlier : plan.after(at)) {
      if (found[earlier]) continue;
      found[earlier] = true;
      open.push_back(earlier);
    }
  }
  return found;
}

/// True when nothing writes the bytes any more once `signal` has started.
bool is_final(std::span<const Plan> plans, const Plan& writer, OpId signal, const Slice& bytes) {
  const std::vector<bool> done = before(writer, signal);
  for (const Plan& plan : plans) {
    for (OpId id = 0; id < plan.ops().size(); ++id) {
      if (!comes_near(plan.ops()[id].dst, bytes)) continue;
      if (plan.rank() != writer.rank() || !done[id]) return false;
    }
  }
  return true;
}

/// The one op that reads the stage of `owner` right after `wait`.
std::optional<OpId> only_reader(const Plan& plan, OpId wait, int owner) {
  std::optional<OpId> reader;
  for (OpId id = wait + 1; id < plan.ops().size(); ++id) {
    const Op& op = plan.ops()[id];
    if (op.kind != OpKind::copy && op.kind != OpKind::reduce) continue;
    if (op.src.space != Space::stage || op.src.owner != owner) continue;
    if (!std::ranges::binary_search(plan.after(id), wait)) continue;
    if (reader) return std::nullopt;
    reader = id;
  }
  return reader;
}

/// The copy from the input that is the only op to write the bytes to the stage, all in one row.
std::optional<OpId> only_writer(const Plan& plan, const Slice& bytes) {
  std::optional<OpId> writer;
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    const Op& op = plan.ops()[id];
    if (!comes_near(op.dst, bytes)) continue;
    const bool is_row = op.dst.count == 1 && op.src.count == 1;
    const bool brings = op.kind == OpKind::copy && is_row && op.src.space == Space::input &&
                        op.src.owner == plan.rank() && op.dst.offset <= bytes.offset &&
                        bytes.end() <= op.dst.end();
    if (writer || !brings) return std::nullopt;
    writer = id;
  }
  return writer;
}

/// True when an op of the node that is not in `readers` (by rank and id) reads what `writer`
/// writes.
bool is_read_elsewhere(std::span<const Plan> plans, const Op& writer,
                       std::span<const std::pair<int, OpId>> readers) {
  for (const Plan& plan : plans) {
    for (OpId id = 0; id < plan.ops().size(); ++id) {
      const Op& op = plan.ops()[id];
      if (op.kind == OpKind::reduce && comes_near(op.dst, writer.dst)) return true;
      if (!comes_near(op.src, writer.dst)) continue;
      if (std::ranges::find(readers, std::pair(plan.rank(), id)) == readers.end()) return true;
    }
  }
  return false;
}

/// Lets messages carry bytes from the input where the stage holds those bytes for them only.
void spare_stage(std::span<const Plan> plans, const Plan& own, std::vector<InlineOp>& ops,
                 std::span<const std::pair<int, OpId>> readers) {
  std::vector<OpId> writers;
  for (InlineOp& sent : ops) {
    if (sent.part != InlineOp::Part::send) continue;
    const auto writer = only_writer(own, sent.bytes);
    if (!writer) continue;
    const Op& copy = own.ops()[*writer];
    const std::uint64_t within = sent.bytes.offset - copy.dst.offset;
    sent.bytes.space = copy.src.space;
    sent.bytes.offset = copy.src.offset + within;
    writers.push_back(*writer);
  }
  std::ranges::sort(writers);
  writers.erase(std::ranges::unique(writers).begin(), writers.end());
  for (const OpId writer : writers) {
    if (is_read_elsewhere(plans, own.ops()[writer], readers)) continue;
    ops.push_back({writer, InlineOp::Part::drop, 0, 0, own.ops()[writer].dst});
  }
}

/// Calls `found(signal, wait, reader, ordinal)` for each inline message from one rank to another.
template <class Found>
void for_each_inline_message(std::span<const Plan> plans, const Plan& from, const Plan& to,
                             Found found) {
  const auto signals = ops_to(from, OpKind::signal, to.rank());
  const auto waits = ops_to(to, OpKind::wait, from.rank());
  std::uint32_t ordinal = 0;
  for (std::size_t i = 0; i < std::min(signals.size(), waits.size()); ++i) {
    const auto reader = only_reader(to, waits[i], from.rank());
    if (!reader) continue;
    const Slice& bytes = to.ops()[*reader].src;
    if (bytes.bytes() > kInlineBytes || !is_final(plans, from, signals[i], bytes)) continue;
    found(signals[i], waits[i], *reader, ++ordinal);
    if (ordinal == kInlinePerExecution) return;
  }
}

}  // namespace

std::vector<InlineOp> find_inline_messages(std::span<const Plan> plans, int place) {
  using Part = InlineOp::Part;
  const Plan& own = plans[static_cast<std::size_t>(place)];
  std::vector<InlineOp> ops;
  std::vector<std::pair<int, OpId>> readers;  // of this rank's messages
  for (int other = 0; other < static_cast<int>(plans.size()); ++other) {
    if (other == place) continue;
    const Plan& theirs = plans[static_cast<std::size_t>(other)];
    for_each_inline_message(
        plans, own, theirs, [&](OpId signal, OpId, OpId reader, std::uint32_t ordinal) {
          ops.push_back({signal, Part::send, other, ordinal, theirs.ops()[reader].src});
          readers.emplace_back(theirs.rank(), reader);
        });
    for_each_inline_message(
        plans, theirs, own, [&](OpId, OpId wait, OpId reader, std::uint32_t ordinal) {
          ops.push_back({wait, Part::wait, other, ordinal, own.ops()[reader].src});
          ops.push_back({reader, Part::read, other, ordinal, own.ops()[reader].src});
        });
  }
  spare_stage(plans, own, ops, readers);
  std::ranges::sort(ops, {}, &InlineOp::op);
  return ops;
}

std::vector<InlineOp> inline_messages_of_slots(const Plan& plan,
                                               std::span<const int> place_of_rank) {
  using Part = InlineOp::Part;
  std::vector<InlineOp> ops;
  const auto place_of = [&](OpId id) { return place_of_rank[plan.ops()[id].peer]; };
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    const Op& op = plan.ops()[id];
    if (op.kind == OpKind::signal && plan.after(id).size() == 1) {
      const OpId writer = plan.after(id).front();
      const Op& copy = plan.ops()[writer];
      if (copy.src.bytes() > kInlineBytes) continue;
      ops.push_back({writer, Part::drop, 0, 0, copy.dst});
      ops.push_back({id, Part::send, place_of(id), 1, copy.src});
    } else if (op.kind == OpKind::copy && op.src.space == Space::stage) {
      if (op.src.bytes() > kInlineBytes) continue;
      const auto wait = std::ranges::find_if(
          plan.after(id), [&](OpId before) { return plan.ops()[before].kind == OpKind::wait; });
      ops.push_back({*wait, Part::wait, place_of(*wait), 1, op.src});
      ops.push_back({id, Part::read, place_of(*wait), 1, op.src});
    }
  }
  return ops;
}

}  // namespace weft::engine
