#include "mpi/replay/simulations.hpp"

#include <algorithm>

#include "sim/processors.hpp"
#include "tune/chooser.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::mpi {

std::size_t Simulations::machine(const std::vector<int>& members) {
  hierarchy::Machine view = target_.machine.view(members);
  std::vector<int> key(view.node_of_rank().begin(), view.node_of_rank().end());
  key.insert(key.end(), view.domain_of_rank().begin(), view.domain_of_rank().end());
  const auto [known, is_new] = numbers_.try_emplace(std::move(key), machines_.size());
  if (is_new) machines_.push_back(std::move(view));
  return known->second;
}

Shape Simulations::shape(std::size_t machine) const {
  return {machines_[machine].ranks(), machines_[machine].nodes()};
}

void Simulations::run(
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  std::uint64_t done = 0;
  for (auto& [call, choices] : choices_) {
    if (progress) progress(done++, choices_.size());
    choices = simulate(call);
  }
}

std::vector<Choice> Simulations::simulate(const CallThere& call) const {
  const hierarchy::Machine& machine = machines_[call.machine];
  if (machine.ranks() == 1) return {{"none needed", 0, true, true}};
  plan::Problem problem{.collective = call.collective,
                        .ranks = machine.ranks(),
                        .block_bytes = call.bytes,
                        .stride = call.bytes,
                        .root = call.root,
                        .element_bytes = call.element_bytes,
                        .commutative = call.commutative,
                        .associative = call.associative};
  const sim::Processors processors(machine, target_.hardware.host);
  const tune::Facts facts{machine, target_.direct, target_.deterministic, processors.are_shared()};
  const std::string taken = taken_on_one_node(problem, facts);
  std::vector<Choice> choices;
  for (const tune::Prediction& one : tune::choose(problem, facts, target_.hardware)) {
    const std::string name = one.algorithm.name();
    choices.push_back({name, one.time_ns / 1e9, one.simulated, name == taken});
  }
  if (std::ranges::none_of(choices, &Choice::taken)) choices.front().taken = true;
  return choices;
}

/// Between nodes it is the fastest.
std::string Simulations::taken_on_one_node(const plan::Problem& problem,
                                           const tune::Facts& facts) const {
  if (facts.machine.nodes() > 1) return {};
  const tune::Chooser chooser({.machine = facts.machine,
                               .direct = target_.direct,
                               .direct_alltoallv = target_.direct,
                               .deterministic = target_.deterministic,
                               .crowded = facts.crowded,
                               .host = target_.hardware.host});
  return chooser.choose(problem).name();
}

}  // namespace weft::mpi
