// How much processor time a choice takes for one call, with the most memory that the process has
// had by then: every collective on clusters of 1,024, 4,096 and 65,536 ranks, 64 to a node.
// Arguments: numbers of nodes, else 16, 64 and 1,024.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "nic_profiles/profile.hpp"
#include "tune/choice_cache.hpp"
#include "tune/decision_table.hpp"
#include "tune/simulated_choice.hpp"

namespace {

using weft::hierarchy::Machine;
using weft::plan::Collective;

constexpr int kRanksOnANode = 64;

void measure(Collective collective, std::uint64_t bytes, const Machine& machine) {
  weft::plan::Problem problem;
  problem.collective = collective;
  problem.ranks = machine.ranks();
  if (collective != Collective::barrier) problem = weft::tune::resized(problem, bytes);
  const auto hardware = weft::nic_profiles::load("connectx-7").hardware;
  const std::clock_t begin = std::clock();
  const auto predictions = weft::tune::choose(problem, {machine}, hardware,
                                              {.most_ops = weft::tune::ChoiceCache::kMostOps});
  const double ms = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const auto simulated = std::ranges::count(predictions, true, &weft::tune::Prediction::simulated);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%6d ranks  %-14s %7llu B %10.2f ms  %2d of %2zu simulated  %5ld MiB  %s, %.1f us\n",
              machine.ranks(), std::string(to_string(collective)).c_str(),
              static_cast<unsigned long long>(bytes), ms, static_cast<int>(simulated),
              predictions.size(), usage.ru_maxrss / 1024,
              predictions.front().algorithm.name().c_str(), predictions.front().time_ns / 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> nodes;
  for (int i = 1; i < argc; ++i) nodes.push_back(std::max(1, std::atoi(argv[i])));
  if (nodes.empty()) nodes = {16, 64, 1024};
  for (const int count : nodes) {
    const Machine machine = Machine::uniform(count, kRanksOnANode);
    for (const Collective collective : weft::plan::all_collectives()) {
      if (collective == Collective::alltoallv) continue;
      for (const std::uint64_t bytes : {std::uint64_t{64}, std::uint64_t{65536}}) {
        if (collective == Collective::barrier && bytes != 64) continue;
        measure(collective, bytes, machine);
      }
    }
  }
}
