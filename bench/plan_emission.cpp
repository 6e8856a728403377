// Emission of plans at scale: time and memory of one rank's plan, for every registered algorithm.
//
//   bench_plan_emission [MACHINE] [MOST_MS]    e.g. 625x16; a line for each that takes longer
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "base/error.hpp"
#include "registry/variants.hpp"

using namespace weft;

int main(int count, char** arguments) {
  const auto machine = hierarchy::Machine::parse(count > 1 ? arguments[1] : "625x16");
  const double most_ms = count > 2 ? std::atof(arguments[2]) : 0;
  const int rank = machine.ranks() / 2;
  for (const plan::Collective collective : plan::all_collectives()) {
    if (collective == plan::Collective::alltoallv) continue;
    std::set<std::string> seen;
    for (const auto& algorithm : registry::variants(collective, 8)) {
      if (most_ms == 0 && !seen.insert(std::string(algorithm.base_name())).second) continue;
      plan::Problem problem = plan::Problem::alltoall(machine.ranks(), 8);
      problem.collective = collective;
      if (is_reduction(collective)) problem.element_bytes = 8;
      if (algorithm.refusal(problem, machine)) continue;
      const auto begin = std::chrono::steady_clock::now();
      plan::Plan plan;
      try {
        plan = algorithm.plan(problem, machine, rank);
      } catch (const Error& error) {
        std::printf("%-14s %-40s %s\n", std::string(to_string(collective)).c_str(),
                    algorithm.name().c_str(), error.what());
        continue;
      }
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      std::size_t edges = 0;
      for (plan::OpId id = 0; id < plan.ops().size(); ++id) edges += plan.after(id).size();
      const double bytes =
          static_cast<double>(plan.ops().size() * (sizeof(plan::Op) + 4) + edges * 4);
      if (took.count() < most_ms) continue;
      std::printf("%-14s %-40s %10.3f ms %8zu ops %9zu edges %8.1f B a rank\n",
                  std::string(to_string(collective)).c_str(), algorithm.name().c_str(),
                  took.count(), plan.ops().size(), edges, bytes / machine.ranks());
    }
  }
}
