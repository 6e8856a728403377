// Placement of the ranks of a test.
#pragma once

#include <string_view>

#include "hierarchy/machine.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Options that place ranks as a machine does, "1+3" or "0,1,0,1": ranks are threads or processes
/// of one host.
inline Options on(std::string_view machine) {
  const auto parsed = hierarchy::Machine::parse(machine);
  Options options;
  options.node_of_rank.assign(parsed.node_of_rank().begin(), parsed.node_of_rank().end());
  return options;
}

}  // namespace weft::test
