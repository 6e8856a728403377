#include "engine/program/inline_messages.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::engine {

using plan::Op;
using plan::OpId;
using plan::OpKind;
using plan::Plan;
using plan::Slice;
using plan::Space;

namespace {

/// A plan with its ops sorted by what is looked for again and again.
struct Indexed {
  const Plan* plan;
  std::map<int, std::vector<OpId>> signals, waits;  // by peer
  std::map<int, std::vector<OpId>> reads, writes;   // of stages, by owner

  explicit Indexed(const Plan& of) : plan(&of) {
    for (OpId id = 0; id < of.ops().size(); ++id) {
      const Op& op = of.ops()[id];
      if (op.kind == OpKind::signal) signals[op.peer].push_back(id);
      if (op.kind == OpKind::wait) waits[op.peer].push_back(id);
      if (op.src.space == Space::stage && !op.src.empty()) reads[op.src.owner].push_back(id);
      if (op.dst.space == Space::stage && !op.dst.empty()) writes[op.dst.owner].push_back(id);
    }
  }

  static std::span<const OpId> of(const std::map<int, std::vector<OpId>>& ops, int rank) {
    const auto found = ops.find(rank);
    return found == ops.end() ? std::span<const OpId>() : found->second;
  }
  const Op& op(OpId id) const { return plan->ops()[id]; }
};

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
bool is_final(std::span<const Indexed> plans, const Indexed& writer, OpId signal,
              const Slice& bytes) {
  std::optional<std::vector<bool>> done;
  for (const Indexed& one : plans) {
    for (const OpId id : Indexed::of(one.writes, bytes.owner)) {
      if (!comes_near(one.op(id).dst, bytes)) continue;
      if (&one != &writer) return false;
      if (!done) done = before(*writer.plan, signal);
      if (!(*done)[id]) return false;
    }
  }
  return true;
}

/// The one op that reads the stage of `owner` right after `wait`.
std::optional<OpId> only_reader(const Indexed& plan, OpId wait, int owner) {
  std::optional<OpId> reader;
  for (const OpId id : Indexed::of(plan.reads, owner)) {
    const OpKind kind = plan.op(id).kind;
    if (id < wait || (kind != OpKind::copy && kind != OpKind::reduce)) continue;
    if (!std::ranges::binary_search(plan.plan->after(id), wait)) continue;
    if (reader) return std::nullopt;
    reader = id;
  }
  return reader;
}

/// The copy from the input that is the only op to write the bytes to the stage, all in one row.
std::optional<OpId> only_writer(const Indexed& plan, const Slice& bytes) {
  std::optional<OpId> writer;
  for (const OpId id : Indexed::of(plan.writes, bytes.owner)) {
    const Op& op = plan.op(id);
    if (!comes_near(op.dst, bytes)) continue;
    const bool is_row = op.dst.count == 1 && op.src.count == 1;
    const bool brings = op.kind == OpKind::copy && is_row && op.src.space == Space::input &&
                        op.src.owner == plan.plan->rank() && op.dst.offset <= bytes.offset &&
                        bytes.end() <= op.dst.end();
    if (writer || !brings) return std::nullopt;
    writer = id;
  }
  return writer;
}

/// True when an op of the node that is not in `readers` (by rank and id, ascending) reads what
/// `writer` writes.
bool is_read_elsewhere(std::span<const Indexed> plans, const Op& writer,
                       std::span<const std::pair<int, OpId>> readers) {
  const int owner = writer.dst.owner;
  for (const Indexed& one : plans) {
    for (const OpId id : Indexed::of(one.writes, owner)) {
      if (one.op(id).kind == OpKind::reduce && comes_near(one.op(id).dst, writer.dst)) return true;
    }
    for (const OpId id : Indexed::of(one.reads, owner)) {
      if (!comes_near(one.op(id).src, writer.dst)) continue;
      if (!std::ranges::binary_search(readers, std::pair(one.plan->rank(), id))) return true;
    }
  }
  return false;
}

/// Lets messages carry bytes from the input where the stage holds those bytes for them only.
void spare_stage(std::span<const Indexed> plans, const Indexed& own, std::vector<InlineOp>& ops,
                 std::vector<std::pair<int, OpId>>& readers) {
  std::vector<OpId> writers;
  for (InlineOp& sent : ops) {
    if (sent.part != InlineOp::Part::send) continue;
    const auto writer = only_writer(own, sent.bytes);
    if (!writer) continue;
    const Op& copy = own.op(*writer);
    const std::uint64_t within = sent.bytes.offset - copy.dst.offset;
    sent.bytes.space = copy.src.space;
    sent.bytes.offset = copy.src.offset + within;
    sent.writer = *writer;
    writers.push_back(*writer);
  }
  std::ranges::sort(readers);
  std::ranges::sort(writers);
  writers.erase(std::ranges::unique(writers).begin(), writers.end());
  for (const OpId writer : writers) {
    if (is_read_elsewhere(plans, own.op(writer), readers)) continue;
    ops.push_back({writer, InlineOp::Part::drop, 0, 0, own.op(writer).dst});
  }
}

/// Calls `found(signal, wait, reader, ordinal)` for each inline message from one rank to another,
/// whose op `is_short` or not.
template <class IsShort, class Found>
void for_each_inline_message(std::span<const Indexed> plans, const Indexed& from, const Indexed& to,
                             IsShort is_short, Found found) {
  const auto signals = Indexed::of(from.signals, to.plan->rank());
  const auto waits = Indexed::of(to.waits, from.plan->rank());
  std::uint32_t ordinal = 0;
  for (std::size_t i = 0; i < std::min(signals.size(), waits.size()); ++i) {
    const auto reader = only_reader(to, waits[i], from.plan->rank());
    if (!reader) continue;
    const Slice& bytes = to.op(*reader).src;
    if (!is_short(*reader) || !is_final(plans, from, signals[i], bytes)) continue;
    found(signals[i], waits[i], *reader, ++ordinal);
    if (ordinal == kInlinePerExecution) return;
  }
}

}  // namespace

std::vector<InlineOp> find_inline_messages(std::span<const Plan> plans, int place,
                                           const IsShort& is_short) {
  using Part = InlineOp::Part;
  const std::vector<Indexed> indexed(plans.begin(), plans.end());
  const Indexed& own = indexed[static_cast<std::size_t>(place)];
  std::vector<InlineOp> ops;
  std::vector<std::pair<int, OpId>> readers;  // of this rank's messages
  const auto short_at = [&](int reader_place) {
    return [&, reader_place](OpId reader) {
      if (is_short) return is_short(reader_place, reader);
      return indexed[static_cast<std::size_t>(reader_place)].op(reader).src.bytes() <= kInlineBytes;
    };
  };
  for (int other = 0; other < static_cast<int>(plans.size()); ++other) {
    const Indexed& theirs = indexed[static_cast<std::size_t>(other)];
    if (other == place || theirs.plan->ops().empty()) continue;
    for_each_inline_message(
        indexed, own, theirs, short_at(other),
        [&](OpId signal, OpId, OpId reader, std::uint32_t ordinal) {
          ops.push_back({signal, Part::send, other, ordinal, theirs.op(reader).src, reader});
          readers.emplace_back(theirs.plan->rank(), reader);
        });
    for_each_inline_message(
        indexed, theirs, own, short_at(place),
        [&](OpId, OpId wait, OpId reader, std::uint32_t ordinal) {
          ops.push_back({wait, Part::wait, other, ordinal, own.op(reader).src});
          ops.push_back({reader, Part::read, other, ordinal, own.op(reader).src, reader});
        });
  }
  spare_stage(indexed, own, ops, readers);
  std::ranges::sort(ops, {}, &InlineOp::op);
  return ops;
}

void find_bytes_in(std::span<const Plan> plans, int place, std::span<InlineOp> ops) {
  const auto op_of = [&](int of, OpId id) -> const Op& {
    return plans[static_cast<std::size_t>(of)].ops()[id];
  };
  for (InlineOp& one : ops) {
    if (one.part == InlineOp::Part::read) one.bytes = op_of(place, one.reader).src;
    if (one.part != InlineOp::Part::send) continue;
    one.bytes = op_of(one.place, one.reader).src;
    if (one.writer == plan::kNoOp) continue;
    const Op& copy = op_of(place, one.writer);
    one.bytes.space = copy.src.space;
    one.bytes.offset = copy.src.offset + (one.bytes.offset - copy.dst.offset);
  }
}

std::vector<Plan> plans_for_inline_messages(const Plan& own, std::span<const int> ranks,
                                            const std::function<Plan(int rank)>& plan_of) {
  std::vector<int> peers;
  for (const Op& op : own.ops()) {
    if (op.kind == OpKind::signal || op.kind == OpKind::wait) peers.push_back(op.peer);
  }
  std::ranges::sort(peers);
  std::vector<Plan> plans;
  for (const int rank : ranks) {
    const bool is_peer = std::ranges::binary_search(peers, rank);
    plans.push_back(rank == own.rank() ? own : is_peer ? plan_of(rank) : Plan());
  }
  return plans;
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
