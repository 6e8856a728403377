// Every alltoall algorithm, by name. The table in registry.cpp is the only place that lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alltoall/exchange.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::alltoall {

struct FlatAlgorithm;

/// What can be set. An algorithm says which of these it reads; the others keep their defaults.
struct Parameters {
  int radix = 2;        ///< Bruck: 2 to the number of ranks or more
  int leaders = 1;      ///< leader: a node's ranks that talk to the network, at most all of them
  bool direct = false;  ///< inside a node, read peers' inputs where they lie instead of staging
  const FlatAlgorithm* between = nullptr;  ///< hierarchical: the step between nodes; default isend

  bool operator==(const Parameters&) const = default;
};

/// A flat algorithm: adds its ops for one exchange to a plan under construction.
struct FlatAlgorithm {
  std::string_view name;
  std::string_view summary;
  bool reads_radix;
  Arrived (*emit)(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
};

/// A hierarchical scheme: adds the whole alltoall to a plan under construction.
struct Scheme {
  std::string_view name;
  std::string_view summary;
  bool reads_leaders;
  bool reads_direct;
  void (*emit)(plan::Builder& builder, const plan::Problem& problem,
               const hierarchy::Machine& machine, const Parameters& parameters);
};

std::span<const FlatAlgorithm> flat_algorithms();
std::span<const Scheme> schemes();

/// One way to do an alltoall: a flat algorithm alone or a scheme, with parameters. A value.
class Algorithm {
 public:
  /// Reads "bruck", "bruck:radix=4", "sa", "sa:between=bruck,radix=4", "leader:leaders=2,direct=1".
  /// UsageError names what is unknown and lists what there is.
  static Algorithm parse(std::string_view text);

  /// Canonical: parse(name()) == *this, defaults are left out.
  std::string name() const;
  const Parameters& parameters() const { return parameters_; }
  bool is_flat() const { return flat_ != nullptr; }

  /// The plan of `rank`. Pure: the same arguments give the same plan, in every process.
  /// UsageError when the problem and the machine have different numbers of ranks.
  plan::Plan plan(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;

  bool operator==(const Algorithm&) const = default;

 private:
  void set(std::string_view text, std::string_view key, std::string_view value);
  bool reads_radix() const;
  std::string parameter_names() const;

  const FlatAlgorithm* flat_ = nullptr;  // exactly one of the two
  const Scheme* scheme_ = nullptr;
  Parameters parameters_;
};

/// Every flat algorithm (Bruck with radix 2, 3, 4, 8 where that makes a difference on `ranks`
/// ranks) and every scheme with each of them between nodes, with 1, 2 and all leaders, direct and
/// staged: what `weft check` proves.
std::vector<Algorithm> variants(int ranks);

}  // namespace weft::alltoall
