#include "engine/letters.hpp"

#include <algorithm>

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

/// Whether an op touches bytes between the ends of a slice.
bool comes_near(const Slice& touched, const Slice& slice) {
  return touched.space == slice.space && touched.owner == slice.owner && !touched.empty() &&
         touched.offset < slice.end() && slice.offset < touched.end();
}

/// The ops that come before one of a plan.
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

/// Whether the bytes are what their reader is to see from when `signal` starts, until the end.
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

/// Calls `found(signal, wait, reader, ordinal)` for each letter of one rank to another.
template <class Found>
void for_each_letter(std::span<const Plan> plans, const Plan& from, const Plan& to, Found found) {
  const auto signals = ops_to(from, OpKind::signal, to.rank());
  const auto waits = ops_to(to, OpKind::wait, from.rank());
  std::uint32_t ordinal = 0;
  for (std::size_t i = 0; i < std::min(signals.size(), waits.size()); ++i) {
    const auto reader = only_reader(to, waits[i], from.rank());
    if (!reader) continue;
    const Slice& bytes = to.ops()[*reader].src;
    if (bytes.bytes() > kLetterBytes || !is_final(plans, from, signals[i], bytes)) continue;
    found(signals[i], waits[i], *reader, ++ordinal);
    if (ordinal == kLettersPerExecution) return;
  }
}

}  // namespace

std::vector<LetterOp> find_letters(std::span<const Plan> plans, int place) {
  using Part = LetterOp::Part;
  const Plan& own = plans[static_cast<std::size_t>(place)];
  std::vector<LetterOp> letters;
  for (int other = 0; other < static_cast<int>(plans.size()); ++other) {
    if (other == place) continue;
    const Plan& theirs = plans[static_cast<std::size_t>(other)];
    for_each_letter(plans, own, theirs, [&](OpId signal, OpId, OpId reader, std::uint32_t ordinal) {
      letters.push_back({signal, Part::send, other, ordinal, theirs.ops()[reader].src});
    });
    for_each_letter(plans, theirs, own, [&](OpId, OpId wait, OpId reader, std::uint32_t ordinal) {
      letters.push_back({wait, Part::wait, other, ordinal, own.ops()[reader].src});
      letters.push_back({reader, Part::read, other, ordinal, own.ops()[reader].src});
    });
  }
  std::ranges::sort(letters, {}, &LetterOp::op);
  return letters;
}

}  // namespace weft::engine
