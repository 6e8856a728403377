#include "cli/options/machine_options.hpp"

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "hierarchy/domains.hpp"

namespace weft::cli {

hierarchy::Machine parse_machine(std::string_view text, int most_ranks) {
  auto machine = hierarchy::Machine::parse(text);
  if (machine.ranks() > most_ranks) {
    throw_usage("--machine={}: has {} ranks, at most {} are allowed", text, machine.ranks(),
                most_ranks);
  }
  return machine;
}

void MachineOptions::add_to(Command& command) {
  command.add_option("--nodes", nodes, "N", "Number of nodes");
  command.add_option("--ppn", ppn, "P", "Ranks on each node");
  command.add_option("--sockets", sockets, "S", "Sockets of each node, its ranks in blocks [1]");
  command.add_option("--placement", placement, "HOW",
                     "block: a node's ranks are neighbours; cyclic: ranks are dealt out to\n"
                     "the nodes in turn [block]");
  command.add_option("--machine", machine, "M",
                     "Any placement: 3x4, 3x4:cyclic, 1+3+4 (ranks a node) or 0,1,0,1\n"
                     "(the node of each rank); with sockets 3x2x4, or 1+3+4/2");
}

hierarchy::Machine MachineOptions::read(int most_ranks) const {
  if (machine) {
    if (nodes || ppn || sockets || placement) {
      throw_usage(
          "--machine={}: describes all of it; not together with --nodes, --ppn, --sockets or "
          "--placement",
          *machine);
    }
    return parse_machine(*machine, most_ranks);
  }
  const auto number = [most_ranks](std::string_view option, const Text& text) {
    return static_cast<int>(env::parse_integer(
        option, required(text, "--machine M, or --nodes N with --ppn P,"), 1, most_ranks));
  };
  const int count = number("--nodes", nodes);
  const int width = number("--ppn", ppn);
  if (width > most_ranks / count) {
    throw_usage("--nodes={} --ppn={}: {} ranks, at most {} are allowed", count, width,
                std::int64_t{count} * width, most_ranks);
  }
  const bool cyclic =
      placement && parse_choice("--placement", *placement, {"block", "cyclic"}) == 1;
  auto nodes_alone =
      cyclic ? hierarchy::Machine::cyclic(count, width) : hierarchy::Machine::uniform(count, width);
  if (!sockets) return nodes_alone;
  return hierarchy::in_blocks(
      nodes_alone, static_cast<int>(env::parse_integer("--sockets", *sockets, 1, width)));
}

}  // namespace weft::cli
