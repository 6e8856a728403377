#include "plan/verify/grouping.hpp"

#include "plan/verify/matched.hpp"
#include "plan/verify/symbolic_run.hpp"

namespace weft::plan {

namespace {

/// FNV-1a over 64-bit words.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace

std::uint64_t grouping_digest(const Problem& problem, std::span<const int> node_of_rank,
                              std::span<const Plan> plans) {
  const MatchedPlans matched("grouping", node_of_rank, plans);
  Findings findings(1);
  SymbolicRun run(problem, matched.ops, matched.matching, findings);
  run.run(matched.graph);
  Hash hash;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    for (const auto& [begin, piece] : run.memory(Space::output, rank).segments()) {
      hash.add(begin);
      hash.add(piece.bytes);
      hash.add(piece.origin);
      const bool defined = piece.expression != kUndefined;
      hash.add(defined ? run.expressions().digest(piece.expression) : 0);
    }
    hash.add(UINT64_MAX);
  }
  return hash.value();
}

}  // namespace weft::plan
