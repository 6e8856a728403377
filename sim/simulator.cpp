#include "sim/simulator.hpp"

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

Result simulate(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
                const Hardware& hardware, const Options& options) {
  Program program(plan_of_rank, machine, hardware.adapter.pio_bytes);
  return Simulation(program, machine, hardware, options).run();
}

}  // namespace weft::sim
