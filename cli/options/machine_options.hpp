// Options that describe a machine.
#pragma once

#include <string_view>

#include "cli/options/command.hpp"
#include "hierarchy/machine.hpp"

namespace weft::cli {

inline constexpr int kMostRanks = 4096;

/// The two ways to give a machine: --machine, or --nodes with --ppn, --sockets and --placement.
struct MachineOptions {
  Text machine;
  Text nodes;
  Text ppn;
  Text sockets;
  Text placement;

  void add_to(Command& command);
  bool given() const { return machine || nodes || ppn || sockets || placement; }
  /// UsageError names the option, its value and what is allowed.
  hierarchy::Machine read(int most_ranks = kMostRanks) const;
};

/// The value of --machine; the same errors.
hierarchy::Machine parse_machine(std::string_view text, int most_ranks = kMostRanks);

}  // namespace weft::cli
