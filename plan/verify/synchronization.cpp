#include <bit>

#include <fmt/format.h>

#include "plan/verify/checks.hpp"

namespace weft::plan {

namespace {

constexpr int kGroup = 64;  // ranks looked at together: the bits of a word

/// For each rank, those of ranks `first` to `first` + 63 after whose entry its last op completes.
/// No op of a rank starts before it has entered, and it leaves when all its ops are complete.
std::vector<std::uint64_t> entries_before_completion(const OpTable& ops, const EventGraph& graph,
                                                     int first) {
  std::vector<std::uint64_t> known(graph.size());
  std::vector<std::uint64_t> by_rank(static_cast<std::size_t>(ops.ranks()));
  for (const Event event : graph.order()) {
    const int rank = ops.rank(op_of(event));
    if (rank >= first && rank - first < kGroup) known[event] = 1ull << (rank - first);
    for (const Event before : graph.predecessors(event)) known[event] |= known[before];
    by_rank[static_cast<std::size_t>(rank)] |= known[event];
  }
  return by_rank;
}

}  // namespace

void check_synchronization(const OpTable& ops, const EventGraph& graph, Findings& findings) {
  for (int first = 0; first < ops.ranks(); first += kGroup) {
    const int count = std::min(kGroup, ops.ranks() - first);
    const std::uint64_t all = ~0ull >> (kGroup - count);
    const auto before = entries_before_completion(ops, graph, first);
    for (int rank = 0; rank < ops.ranks() && !findings.full(); ++rank) {
      std::uint64_t missing = all & ~before[static_cast<std::size_t>(rank)];
      if (rank >= first && rank - first < kGroup) missing &= ~(1ull << (rank - first));
      if (missing == 0) continue;
      findings.add(Flaw::synchronization, rank, kNoOp,
                   fmt::format("may leave before rank {} has come, expected to follow an op of it",
                               first + std::countr_zero(missing)));
    }
  }
}

}  // namespace weft::plan
