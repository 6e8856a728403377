// Verifier: proves, without running anything, that a set of plans, one a rank, solves its problem.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/edge.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::plan {

enum class Flaw : std::uint8_t {
  shape,      ///< Not one plan for each rank, or a plan that is not for this problem.
  bounds,     ///< An access outside a space, to another node, or to a space that is not shared.
  matching,   ///< A send without its recv, a signal without its wait, or sizes that differ.
  deadlock,   ///< A cycle of ops that wait for one another.
  race,       ///< Two accesses to the same bytes, one a write, in no defined order; or a peer that
              ///< touches a caller's buffer outside the time in which the caller is in the call.
  undefined,  ///< Bytes read that were never written.
  delivery,   ///< Output that differs from the contract, or is written where it must not be.
  element,    ///< A message or reduce op of a reduction that cuts an element in two.
  unequal,    ///< Results of an allreduce that are grouped differently on two ranks: when the
              ///< operation is not associative to the bit, their bits may differ.
  order,      ///< Of a family: members whose bytes, or pieces of data, are in another order.
  synchronization,  ///< A rank that may leave a barrier before another has entered.
};

std::string_view to_string(Flaw flaw);

struct Finding {
  Flaw flaw = Flaw::shape;
  int rank = -1;       // -1: no one rank
  OpId op = kNoOp;     // kNoOp: no one op
  std::string detail;  // one line that names what was found and what was expected
};

std::string to_string(const Finding& finding);

/// Buffering of messages that the check of deadlock assumes. Plans must be free of deadlock under
/// rendezvous, which is the strictest: no send completes before its recv has started. A bounded
/// eager channel holds `eager_messages` of each ordered pair of ranks before it blocks.
struct Buffering {
  bool rendezvous = true;
  std::uint64_t eager_messages = 0;
};

struct VerifyOptions {
  std::vector<Buffering> bufferings = {{true, 0}, {false, 1}, {false, 8}};
  /// Findings to collect before giving up.
  std::size_t limit = 8;
};

/// Empty when the plans are correct. `node_of_rank[r]` is the node of rank r: only ranks of one
/// node share stages and signals. Costs O(total block count x log) in time and memory.
std::vector<Finding> verify(const Problem& problem, std::span<const int> node_of_rank,
                            std::span<const Plan> plans, const VerifyOptions& options = {});
/// The same of a neighbourhood exchange along the edges of all ranks, by rank.
std::vector<Finding> verify(std::span<const Edges> edges, std::span<const int> node_of_rank,
                            std::span<const Plan> plans, const VerifyOptions& options = {});

}  // namespace weft::plan
