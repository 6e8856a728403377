// Every reduction algorithm, by name. The tables in registry.cpp are the only place that lists
// them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/groups.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"
#include "reduce/flat/ledger.hpp"
#include "reduce/flat/reduction.hpp"

namespace weft::reduce {

struct FlatAlgorithm;

/// What can be set. An algorithm says which of these it reads; the others keep their defaults.
struct Parameters {
  std::uint64_t segment = 0;     ///< bytes of a message at most; 0: whole vectors or blocks
  std::uint64_t latency = 4096;  ///< adaptive: bytes that cross the network while one starts
  int leaders = 1;               ///< a node's ranks that talk to the network: parse_leaders()
  bool direct = false;  ///< inside a node, read peers' inputs where they lie instead of staging
  const FlatAlgorithm* between = nullptr;  ///< the step between nodes; null: the first

  bool operator==(const Parameters&) const = default;
};

/// A flat algorithm: adds its ops for one reduction to a plan under construction.
struct FlatAlgorithm {
  std::string_view name;
  std::string_view summary;
  plan::Collective collective;
  bool keeps_order;  ///< of the ranks, so that the operation need not commute
  bool reads_segment = false;
  bool reads_latency = false;
  bool takes_any_blocks = false;  ///< reduce_scatter: also with gaps, and in any order
  void (*emit)(Ledger& ledger, const Reduction& reduction, const Parameters& parameters);
};

/// A hierarchical scheme: adds a whole reduction to a plan under construction.
struct Scheme {
  std::string_view name;
  std::string_view summary;
  plan::Collective collective;
  bool keeps_order;        ///< where the ranks of each node follow one another, and `between` does
  bool needs_associative;  ///< groups the operands otherwise on each node
  bool reads_leaders;
  bool reads_direct;
  std::optional<plan::Collective> between;  ///< what the step between nodes does
  void (*emit)(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
               const Parameters& parameters);
  bool one_node = false;  ///< has none: all ranks are on one node
};

std::span<const FlatAlgorithm> flat_algorithms();
std::span<const Scheme> schemes();

/// One way to do a reduction: a flat algorithm alone or a scheme, with parameters. A value.
class Algorithm {
 public:
  /// Reads "binomial", "chain:segment=8192", "leader:leaders=2,between=ring",
  /// "leader:leaders=all", "leader:leaders=sockets". UsageError names what is unknown and lists
  /// what there is.
  static Algorithm parse(plan::Collective collective, std::string_view text);

  /// Canonical: parse(collective(), name()) == *this, defaults are left out.
  std::string name() const;
  plan::Collective collective() const;
  const Parameters& parameters() const { return parameters_; }
  bool is_flat() const { return flat_ != nullptr; }

  /// Whether the operands stand in rank order, on machines where `refusal` has nothing against it.
  bool keeps_order() const;
  /// Whether operands are grouped alike wherever the ranks are: what `deterministic` asks for.
  /// Operations that are associative to the bit need no such algorithm.
  bool groups_alike_everywhere() const { return flat_ != nullptr; }

  /// Why plan() would refuse, or nothing. From facts that all ranks share.
  std::optional<std::string> refusal(const plan::Problem& problem,
                                     const hierarchy::Machine& machine) const;

  /// The plan of `rank`. Pure: the same arguments give the same plan, in every process. UsageError
  /// where refusal() says why, or when the problem and the machine do not fit.
  plan::Plan plan(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;

  bool operator==(const Algorithm&) const = default;

 private:
  void set(std::string_view text, std::string_view key, std::string_view value);
  bool reads_segment() const;
  bool reads_latency() const;
  std::string parameter_names() const;

  const FlatAlgorithm* flat_ = nullptr;  // exactly one of the two
  const Scheme* scheme_ = nullptr;
  Parameters parameters_;
};

/// Every flat algorithm (in segments of `segment` bytes too where it reads that) and every scheme
/// with each of them between nodes, with 1, 2, all leaders and one a socket, direct and staged:
/// what `weft check` proves. Those that a problem or machine refuses are among them.
std::vector<Algorithm> variants(plan::Collective collective, int ranks,
                                std::uint64_t segment = 4096);

}  // namespace weft::reduce
