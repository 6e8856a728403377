// Inline messages: signals that carry a few bytes in their own cache line.
//
// Without them a rank writes bytes to its stage and signals; the other side waits for the signal
// and then reads the bytes: two cache lines, one after the other, on their way between two cores.
// Where the bytes are few, the signal carries them instead. Both sides work out which signals do so
// from the plans of the ranks of the node; nothing is exchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weft::engine {

/// The most bytes that an inline message carries.
inline constexpr std::uint64_t kInlineBytes = 248;
/// The most inline messages of one execution from one rank to another.
inline constexpr std::uint32_t kInlinePerExecution = 2;

/// How one op of a rank changes for inline messages.
struct InlineOp {
  enum class Part : std::uint8_t {
    send,  ///< a signal that carries bytes
    wait,  ///< the wait for it
    read,  ///< a copy or reduce that reads the bytes from the message instead of the stage
    drop,  ///< a copy to the stage that is left out: messages carry the bytes from the input
  };
  plan::OpId op = 0;
  Part part = Part::send;
  int place = 0;              ///< of the other rank; not with Part::drop
  std::uint32_t ordinal = 0;  ///< number of the message among those from the one to the other in
                              ///< one execution, from 1
  plan::Slice bytes;  ///< in the sender's stage; with Part::send: where the bytes come from,
                      ///< in the rank's input, output or stage
  plan::OpId reader = plan::kNoOp;  ///< of the receiving rank, with Part::send and Part::read
  plan::OpId writer = plan::kNoOp;  ///< of the sending rank, where the bytes come from its input
};

/// The ops of the rank at `place` that change, by op id. `plans[p]` is the plan of the rank at
/// place p of its node. A signal carries bytes when just one op reads the sender's stage right
/// after the matching wait, the bytes that it reads are few enough (as `is_short` says of an op of
/// the rank at a place, or at most kInlineBytes), and only ops before the signal write there. Plans
/// of ranks with which the rank exchanges no signals may be missing (empty): no rank writes to a
/// neighbour's stage, and none reads it without a signal from there.
using IsShort = std::function<bool(int place, plan::OpId)>;
std::vector<InlineOp> find_inline_messages(std::span<const plan::Plan> plans, int place,
                                           const IsShort& is_short = {});

/// Sets the bytes of `ops`, found for the rank at `place`, to what they are in other plans of the
/// same shape.
void find_bytes_in(std::span<const plan::Plan> plans, int place, std::span<InlineOp> ops);

/// The plans that find_inline_messages() needs for the rank with the plan `own`, by place; the
/// others are empty. `ranks` are those of its node, `plan_of` gives the plan of one of them.
std::vector<plan::Plan> plans_for_inline_messages(
    const plan::Plan& own, std::span<const int> ranks,
    const std::function<plan::Plan(int rank)>& plan_of);

/// The same from the rank's own plan, where blocks lie in slots of the stages
/// (hierarchy::InsideNode): for each pair of ranks with a block one copy into the slot, a signal
/// after it, a wait and a copy out of the slot. Both ends know the size of the block and so come to
/// the same result. `place_of_rank[r]` is the place of rank r on this node.
std::vector<InlineOp> inline_messages_of_slots(const plan::Plan& plan,
                                               std::span<const int> place_of_rank);

}  // namespace weft::engine
