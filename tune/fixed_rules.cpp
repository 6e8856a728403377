#include "tune/fixed_rules.hpp"

#include <array>
#include <initializer_list>
#include <string_view>

#include "base/error.hpp"
#include "tune/candidates.hpp"

namespace weft::tune {

using plan::Collective;
using plan::Problem;

namespace {

constexpr std::uint64_t kBruckBytes = 512;       // most bytes to one node for Bruck's algorithm
constexpr std::uint64_t kFlatBytes = 64 << 10;   // from here on aggregation costs too many copies
constexpr std::uint64_t kShortVector = 512;      // startups cost more than bytes up to here
constexpr std::uint64_t kEveryone = 16 << 10;    // bytes of all vectors that every rank still reads
constexpr std::uint64_t kFewRead = 256 << 10;    // the same of one vector, for up to four ranks
constexpr std::uint64_t kLongVector = 64 << 10;  // from here on leaders divide a vector
constexpr std::uint64_t kLongOfPair = 16 << 10;  // from here on a root reads the other's in place
constexpr std::uint64_t kSharedOfPair = 1 << 20;     // from here on both reduce a half
constexpr std::uint64_t kShortScan = 4 << 10;        // from here on scans have leaders
constexpr int kFewOfScan = 4;                        // a scan of so few needs none, either
constexpr int kFewOfCrowdedScan = 8;                 // nor, where they share cores, of so few
constexpr int kFewRanks = 8;                         // a barrier of so few needs no leader
constexpr std::uint64_t kPipelineBytes = 256 << 10;  // from here on segments follow one another

/// Candidates, best first. The last ones may run for every problem.
using Names = std::initializer_list<std::string_view>;

class Rules {
 public:
  Rules(const Problem& problem, const Facts& facts) : problem_(problem), facts_(facts) {}

  Algorithm choose() const {
    switch (problem_.collective) {
      case Collective::alltoall:
        return alltoall();
      case Collective::alltoallv:
        // Small blocks go through stages, large ones straight to their places: VectorExchange.
        return first_of({facts_.machine.widest() == 1 ? "isend" : "sa"});
      case Collective::broadcast:
        return broadcast();
      case Collective::scatter:
      case Collective::gather:
        return first_of({direct() ? "leader:inside=direct" : "leader", "binomial"});
      case Collective::allgather:
        return allgather();
      case Collective::barrier:
        return barrier();
      case Collective::reduce:
        return reduce();
      case Collective::allreduce:
        return allreduce();
      case Collective::reduce_scatter:
        return reduce_scatter();
      case Collective::scan:
      case Collective::exscan:
        return scan();
    }
    throw_usage("no algorithm for {}", to_string(problem_.collective));
  }

 private:
  Algorithm alltoall() const {
    const hierarchy::Machine& machine = facts_.machine;
    const std::uint64_t block = problem_.block_bytes;
    const std::string_view sa = direct() ? "sa:direct=1" : "sa";
    if (machine.nodes() == 1) return first_of({sa});
    if (machine.widest() == 1) {
      return first_of({block <= kBruckBytes && machine.ranks() > 4 ? "bruck" : "isend"});
    }
    if (block >= kFlatBytes) return first_of({"isend"});
    const std::uint64_t aggregate = block * static_cast<std::uint64_t>(machine.widest());
    if (aggregate <= kBruckBytes && machine.nodes() > 4) return first_of({"sa:between=bruck"});
    return first_of({sa});
  }

  Algorithm barrier() const {
    const int ranks = facts_.machine.ranks();
    // A rank that lets the others go is the first to leave.
    if (problem_.leaving == plan::Leaving::root_first) return first_of({"leader", "dissemination"});
    // That has the others tell it that they leave.
    if (problem_.leaving == plan::Leaving::root_last) {
      return first_of({fmt::format("dissemination:radix={}", std::min(ranks, kFewRanks))});
    }
    // Few ranks need no leader: each signals to all others, without answers.
    if (facts_.machine.nodes() == 1 && ranks > 1 && ranks <= kFewRanks) {
      return first_of({fmt::format("dissemination:radix={}", ranks)});
    }
    return first_of({"leader", "dissemination"});
  }

  Algorithm broadcast() const {
    if (bytes() >= kPipelineBytes && facts_.machine.nodes() > 1) {
      return first_of(
          {direct() ? "leader:segment=131072,inside=direct" : "leader:segment=131072", "binomial"});
    }
    return first_of({direct() ? "leader:inside=direct" : "leader", "binomial"});
  }

  Algorithm allgather() const {
    if (bytes() * static_cast<std::uint64_t>(facts_.machine.ranks()) <= kShortVector) {
      return first_of({"leader:between=bruck", "bruck"});
    }
    return first_of({direct() ? "leader:inside=direct" : "leader", "ring"});
  }

  Algorithm reduce() const {
    // On one node the root folds on its own what neighbours put into stages; of two ranks it reads
    // where it lies what is longer, and the other one helps with the longest: as measured on two
    // cores with 2 and 4 ranks (bench/README.md). Vectors that must be read by system calls are
    // left to stages or the host by races.
    if (facts_.machine.nodes() == 1 && !is_shared_out()) {
      const bool in_place = is_pair() && bytes() >= kLongOfPair && direct();
      if (in_place && bytes() >= kSharedOfPair) return first_of({"leader:leaders=all,direct=1"});
      return first_of({in_place ? "leader:direct=1" : "leader", "binomial"});
    }
    if (bytes() <= kShortVector || !is_shared_out()) {
      return first_of({direct() ? "leader:direct=1" : "leader", "binomial"});
    }
    return first_of({direct() ? "leader:leaders=all,direct=1" : "leader:leaders=all",
                     "halving-doubling", "binomial"});
  }

  Algorithm allreduce() const {
    const bool is_short = bytes() <= kShortVector;
    if (everyone_reads(is_short)) return first_of({"everyone", "leader", "recursive-doubling"});
    if (is_short || (facts_.crowded && bytes() < kLongVector)) {
      return first_of({direct() ? "leader:direct=1" : "leader", "recursive-doubling"});
    }
    if (bytes() < kLongVector || facts_.machine.nodes() == 1) {
      return first_of(
          {direct() ? "leader:leaders=all,direct=1" : "leader:leaders=all", "halving-doubling"});
    }
    return first_of({direct() ? "leader:leaders=all,direct=1,between=halving-doubling"
                              : "leader:leaders=all,between=halving-doubling",
                     "halving-doubling"});
  }

  /// Whether every rank reduces the vectors of all: one wait for the others, in place of two or
  /// more, for reading more.
  bool everyone_reads(bool is_short) const {
    const int ranks = facts_.machine.ranks();
    if (facts_.machine.nodes() == 1 && ranks <= 4 && !direct()) {
      return is_pair() || bytes() <= kFewRead;
    }
    return is_short && bytes() * static_cast<std::uint64_t>(ranks) <= kEveryone;
  }

  /// Two ranks of one node with a core each.
  bool is_pair() const {
    return facts_.machine.nodes() == 1 && facts_.machine.ranks() == 2 && !facts_.crowded;
  }

  Algorithm reduce_scatter() const {
    const std::string_view flat = problem_.commutative ? "recursive-halving" : "recursive-doubling";
    return first_of(
        {direct() ? "leader:leaders=all,direct=1" : "leader:leaders=all", flat, "pairwise"});
  }

  Algorithm scan() const {
    // Of few ranks none has to wait for a leader, which waits for all. Doubling takes less yet, but
    // groups floating-point numbers in another way than a leader and most hosts do.
    const int most = facts_.crowded ? kFewOfCrowdedScan : kFewOfScan;
    const bool is_small = bytes() <= kShortScan && facts_.machine.ranks() <= most;
    if (facts_.machine.nodes() == 1 && is_small) return first_of({"chain"});
    return first_of({direct() ? "leader:direct=1" : "leader", "doubling"});
  }

  std::uint64_t bytes() const { return block_bytes(problem_); }

  /// True if it pays that every rank of a node reduces a part: each has a core, and the parts are
  /// small compared with the data that must be brought together.
  bool is_shared_out() const { return !facts_.crowded && facts_.machine.widest() > 2; }

  bool direct() const { return reads_in_place(problem_, facts_); }

  Algorithm first_of(Names names) const {
    for (const std::string_view name : names) {
      auto algorithm = Algorithm::parse(problem_.collective, name);
      if (may_run(algorithm, problem_, facts_)) return algorithm;
    }
    throw_usage("{}: none of its algorithms may run here", to_string(problem_.collective));
  }

  const Problem& problem_;
  const Facts& facts_;
};

/// Candidates for reductions that group their operands alike on every placement. Best first; the
/// last one may do every reduction.
std::array<std::string_view, 2> deterministic_names(const plan::Problem& problem) {
  const bool is_short = block_bytes(problem) <= kShortVector;
  switch (problem.collective) {
    case Collective::reduce:
      return {is_short ? "binomial" : "halving-doubling", "ring"};
    case Collective::allreduce:
      return {is_short ? "recursive-doubling" : "halving-doubling", "reduce-broadcast"};
    case Collective::reduce_scatter:
      return {problem.commutative ? "recursive-halving" : "recursive-doubling", "pairwise"};
    default:
      return {"doubling", "chain"};
  }
}

}  // namespace

std::optional<Algorithm> deterministic_choice(const plan::Problem& problem, const Facts& facts) {
  if (!facts.deterministic || !is_reduction(problem.collective) || problem.associative) {
    return std::nullopt;
  }
  for (const std::string_view name : deterministic_names(problem)) {
    auto algorithm = Algorithm::parse(problem.collective, name);
    if (may_run(algorithm, problem, facts)) return algorithm;
  }
  throw_usage("{}: no algorithm groups alike on every placement", to_string(problem.collective));
}

Algorithm choose_by_rules(const Problem& problem, const Facts& facts) {
  if (auto only = deterministic_choice(problem, facts)) return *only;
  return Rules(problem, facts).choose();
}

}  // namespace weft::tune
