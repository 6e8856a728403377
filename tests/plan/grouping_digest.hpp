// Grouping digest: a number for how a set of plans groups the operands of its reductions.
#pragma once

#include <cstdint>
#include <span>

#include "plan/verify/matched.hpp"
#include "plan/verify/symbolic_run.hpp"

namespace weft::plan {

/// Equal for two sets of plans of one problem exactly when (but for collisions of 64 bits) both
/// give the same bits, for all inputs and operations. It is the same for every placement when
/// results do not depend on the placement. UsageError when the plans are not one a rank, do not
/// match or wait in a circle.
inline std::uint64_t grouping_digest(const Problem& problem, std::span<const int> node_of_rank,
                                     std::span<const Plan> plans) {
  const MatchedPlans matched("grouping", node_of_rank, plans);
  Findings findings(1);
  SymbolicRun run(problem, matched.ops, matched.matching, findings);
  run.run(matched.graph);
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over 64-bit words
  const auto add = [&hash](std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
  };
  for (int rank = 0; rank < problem.ranks; ++rank) {
    for (const auto& [begin, piece] : run.memory(Space::output, rank).segments()) {
      add(begin);
      add(piece.bytes);
      add(piece.origin);
      const bool defined = piece.expression != kUndefined;
      add(defined ? run.expressions().digest(piece.expression) : 0);
    }
    add(UINT64_MAX);
  }
  return hash;
}

}  // namespace weft::plan
