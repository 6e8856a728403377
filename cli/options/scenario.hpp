// Scenario of a simulation: a collective, its sizes and a cluster. Options of sim and explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/command.hpp"
#include "cli/options/machine_options.hpp"
#include "hierarchy/machine.hpp"
#include "nic_profiles/profile.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::cli {

struct ScenarioOptions {
  Text collective, bytes, root, element, operation, counts, nic, uneven;
  MachineOptions machine;
  bool in_place = false;

  void add_to(Command& command);
};

/// The options after parsing.
class Scenario {
 public:
  /// UsageError names the option, its value and what is allowed.
  explicit Scenario(const ScenarioOptions& options);

  plan::Collective collective() const { return collective_; }
  const hierarchy::Machine& machine() const { return machine_; }
  const nic_profiles::Profile& profile() const { return profile_; }
  /// The sizes of --bytes; of a barrier {0}.
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  /// UsageError where such blocks do not consist of whole elements.
  plan::Problem problem(std::uint64_t bytes) const;
  /// The same without the counts of an alltoallv, of which large machines have many.
  plan::Problem without_counts(std::uint64_t bytes) const;
  /// The plan of one rank for that problem, with counts, of which those of its node are made.
  plan::Plan plan(const registry::Algorithm& algorithm, const plan::Problem& without_counts,
                  int rank) const;

 private:
  std::string counts() const;

  ScenarioOptions options_;
  plan::Collective collective_;
  hierarchy::Machine machine_;
  nic_profiles::Profile profile_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace weft::cli
