#include "sim/simulator.hpp"

#include <utility>
#include <variant>

#include "sim/classes.hpp"
#include "sim/simulation.hpp"

namespace weft::sim {

std::string_view to_string(Cost cost) {
  switch (cost) {
    case Cost::startup:
      return "startup";
    case Cost::wire:
      return "wire";
    case Cost::copy:
      return "copy";
    case Cost::reduction:
      return "reduction";
    case Cost::contention:
      return "contention";
  }
  return "?";
}

namespace {

/// The result of a simulation by class; a reason, in words, where there is none.
std::variant<Result, std::string> simulate_classes(const PlanSource& plan_of_rank,
                                                   const hierarchy::Machine& machine,
                                                   const Hardware& hardware,
                                                   const Options& options) {
  if (options.trace != nullptr) return "a trace has all ranks";
  if (Processors(machine, hardware.host).are_shared()) return "ranks share cores";
  auto found = find_classes(plan_of_rank, machine, {.root = options.root});
  if (const auto* reason = std::get_if<std::string>(&found)) return *reason;
  const Classes& classes = std::get<Classes>(found);
  return simulate(classes, machine, hardware, options);
}

}  // namespace

std::variant<Result, std::string> simulate(const Classes& classes,
                                           const hierarchy::Machine& machine,
                                           const Hardware& hardware, const Options& options) {
  Program program(classes.plans, classes.members, machine, hardware.adapter.pio_bytes);
  Simulation simulation(program, classes.members, machine, hardware, options);
  if (!simulation.run()) return "ranks of a class wait for one another";
  Result result = simulation.result();
  result.counted = classes.alike;
  const auto factor = classes.alike ? static_cast<std::uint64_t>(machine.nodes()) : 0;
  result.messages *= factor;
  result.wire_bytes *= factor;
  return result;
}

Result simulate(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
                const Hardware& hardware, const Options& options) {
  std::string whole;
  if (options.by_class) {
    auto found = simulate_classes(plan_of_rank, machine, hardware, options);
    if (auto* result = std::get_if<Result>(&found)) return std::move(*result);
    whole = std::get<std::string>(found);
  }
  const Members all(machine);
  Program program(plan_of_rank, machine, hardware.adapter.pio_bytes);
  Simulation simulation(program, all, machine, hardware, options);
  if (!simulation.run()) simulation.report_deadlock();
  Result result = simulation.result();
  result.whole = std::move(whole);
  return result;
}

}  // namespace weft::sim
