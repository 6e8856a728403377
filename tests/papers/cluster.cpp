#include "tests/papers/cluster.hpp"

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "nic_profiles/profile.hpp"
#include "reduce/registry.hpp"
#include "sim/simulator.hpp"

namespace weft::papers {

using hierarchy::Machine;
using plan::Collective;

namespace {

sim::PlanSource plans_of(Collective collective, const std::string& name,
                         const plan::Problem& problem, const Machine& machine) {
  const auto make = [&](const auto& algorithm) -> sim::PlanSource {
    return
        [algorithm, problem, &machine](int rank) { return algorithm.plan(problem, machine, rank); };
  };
  if (is_alltoall(collective)) return make(alltoall::Algorithm::parse(name));
  if (is_reduction(collective)) return make(reduce::Algorithm::parse(collective, name));
  return make(gather::Algorithm::parse(collective, name));
}

}  // namespace

Cluster::Cluster(const std::string& nic, int nodes, int ranks_per_node)
    : machine_(Machine::uniform(nodes, ranks_per_node)),
      hardware_(nic_profiles::load(nic).hardware) {}

double Cluster::us(Collective collective, const std::string& algorithm, std::uint64_t bytes) const {
  plan::Problem problem{collective, machine_.ranks(), bytes, bytes};
  problem.associative = true;
  problem.element_bytes = is_reduction(collective) ? sizeof(double) : 1;
  const auto plans = plans_of(collective, algorithm, problem, machine_);
  return sim::simulate(plans, machine_, hardware_).time_ns / 1e3;
}

}  // namespace weft::papers
