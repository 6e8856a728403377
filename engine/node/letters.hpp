// Letters: signals that bring the bytes that they are about.
//
// Inside a node a rank writes a few bytes to its stage and signals; the other side waits for the
// signal, then reads the bytes: two cache lines, one after the other, on their way between two
// cores. Where the bytes are few, the signal carries them along in its own line instead. Both sides
// find out which signals do that from the plans of the ranks of the node, by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weft::engine {

/// Bytes that a letter holds at most.
inline constexpr std::uint64_t kLetterBytes = 248;
/// Of one execution, from one rank to another.
inline constexpr std::uint32_t kLettersPerExecution = 2;

/// What becomes of one op of a rank.
struct LetterOp {
  enum class Part : std::uint8_t {
    send,  ///< a signal that takes bytes along
    wait,  ///< the wait for it
    read,  ///< a copy or reduce whose source is what came
    drop,  ///< a copy to the stage that nobody reads then: letters take the bytes from the input
  };
  plan::OpId op = 0;
  Part part = Part::send;
  int place = 0;              ///< of the other rank; not of Part::drop
  std::uint32_t ordinal = 0;  ///< from 1: of this execution's letters between the two
  plan::Slice bytes;          ///< of the sender's stage; Part::send: where it takes them, of the
                              ///< rank's input, output or stage
};

/// The letters of the rank at `place`, by op id. `plans[p]` is the plan of the rank at place p of
/// its node. A signal takes along what the only op that reads the signaller's stage right after
/// the matching wait reads, if nothing but what comes before the signal ever writes there.
std::vector<LetterOp> find_letters(std::span<const plan::Plan> plans, int place);

/// The letters of a rank by its own plan alone, where blocks lie in slots
/// (hierarchy::InsideNode): one copy there, one signal behind it, one wait and one copy from there
/// for each pair that has such a block. Both ends know its size and so find the same.
/// `place_of_rank[r]` is the place of rank r on this node.
std::vector<LetterOp> letters_of_slots(const plan::Plan& plan, std::span<const int> place_of_rank);

}  // namespace weft::engine
