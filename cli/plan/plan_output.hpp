// Output of plans and their costs: JSON, and lines of text.
#pragma once

#include <string>

#include "cli/terminal/output.hpp"
#include "plan/inspect/cost_sheet.hpp"
#include "plan/plan.hpp"

namespace weft::cli {

Json to_json(const plan::Plan& plan);
Json to_json(const plan::Cost& cost);
/// Rounds, total, by node and by rank.
Json to_json(const plan::CostSheet& sheet);

/// Connections and their memory, of the rank that has the most.
struct Transport {
  std::uint64_t connections = 0;   // a queue pair each on every rail
  std::uint64_t memory_bytes = 0;  // registered
};
Transport transport_of(const plan::CostSheet& sheet);

/// One rank's cost in one line.
std::string describe(const plan::Cost& cost);

}  // namespace weft::cli
