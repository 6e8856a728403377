#include "cli/arguments.hpp"

#include <algorithm>

#include "base/env.hpp"
#include "base/error.hpp"
#include "hierarchy/domains.hpp"

namespace weft::cli {

const std::string& required(const Text& text, std::string_view what) {
  if (!text) throw_usage("{} is missing", what);
  return *text;
}

Range parse_range(std::string_view option, std::string_view text, int low, int high) {
  const auto dots = text.find("..");
  try {
    const auto number = [&](std::string_view digits) {
      return static_cast<int>(env::parse_integer(option, digits, low, high));
    };
    const Range range{number(text.substr(0, dots)),
                      number(dots == text.npos ? text : text.substr(dots + 2))};
    if (range.first <= range.last) return range;
  } catch (const UsageError&) {
    // The message below says more.
  }
  throw_usage("{}={}: not a number or a range A..B with A <= B, from {} to {}", option, text, low,
              high);
}

std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text,
                                       std::uint64_t low, std::uint64_t high) {
  std::vector<std::uint64_t> sizes;
  try {
    for (std::string_view rest = text;;) {
      const auto comma = rest.find(',');
      sizes.push_back(env::parse_bytes(option, rest.substr(0, comma), low, high));
      if (comma == rest.npos) return sizes;
      rest.remove_prefix(comma + 1);
    }
  } catch (const UsageError&) {
    throw_usage(
        "{}={}: not sizes from {} to {} bytes joined by commas (K, M and G are powers of 1024)",
        option, text, low, high);
  }
}

std::size_t parse_choice(std::string_view option, std::string_view text,
                         const std::vector<std::string_view>& allowed) {
  const auto found = std::ranges::find(allowed, text);
  if (found == allowed.end()) {
    throw_usage("{}={}: not one of {}", option, text, fmt::join(allowed, ", "));
  }
  return static_cast<std::size_t>(found - allowed.begin());
}

plan::Collective parse_collective(const Text& text) {
  return plan::parse_collective(required(text, "the collective (such as alltoall)"));
}

plan::Problem make_problem(plan::Collective collective, int ranks, std::uint64_t bytes,
                           std::optional<std::uint64_t> stride) {
  plan::Problem problem{collective, ranks, bytes, stride.value_or(bytes)};
  if (problem.stride < bytes) {
    throw_usage("--stride={}: blocks of {} bytes would overlap; allowed: at least --bytes", *stride,
                bytes);
  }
  return problem;
}

void set_operation(plan::Problem& problem, std::string_view text) {
  const auto choice = parse_choice("--operation", text, {kOperations.begin(), kOperations.end()});
  problem.commutative = choice != 1;
  problem.associative = choice == 2;
}

std::string_view operation_of(const plan::Problem& problem) {
  if (!problem.commutative) return kOperations[1];
  return kOperations[problem.associative ? 2 : 0];
}

std::optional<std::uint64_t> parse_stride(const Text& text) {
  if (!text) return std::nullopt;
  return env::parse_bytes("--stride", *text, 0, kMostBlockBytes);
}

hierarchy::Machine parse_machine(std::string_view text, int most_ranks) {
  auto machine = hierarchy::Machine::parse(text);
  if (machine.ranks() > most_ranks) {
    throw_usage("--machine={}: has {} ranks, at most {} are allowed", text, machine.ranks(),
                most_ranks);
  }
  return machine;
}

void MachineOptions::add_to(CLI::App& command) {
  command.add_option("--nodes", nodes, "Number of nodes")->type_name("N");
  command.add_option("--ppn", ppn, "Ranks on each node")->type_name("P");
  command.add_option("--sockets", sockets, "Sockets of each node, its ranks in blocks [1]")
      ->type_name("S");
  command
      .add_option("--placement", placement,
                  "block: a node's ranks are neighbours; cyclic: ranks are dealt out to\n"
                  "the nodes in turn [block]")
      ->type_name("HOW");
  command
      .add_option("--machine", machine,
                  "Any placement: 3x4, 3x4:cyclic, 1+3+4 (ranks a node) or 0,1,0,1\n"
                  "(the node of each rank); with sockets 3x2x4, or 1+3+4/2")
      ->type_name("M");
}

hierarchy::Machine MachineOptions::read(int most_ranks) const {
  if (machine) {
    if (nodes || ppn || sockets || placement) {
      throw_usage(
          "--machine={}: says it all; not together with --nodes, --ppn, --sockets or --placement",
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
  const auto nodes_alone =
      cyclic ? hierarchy::Machine::cyclic(count, width) : hierarchy::Machine::uniform(count, width);
  if (!sockets) return nodes_alone;
  return hierarchy::in_blocks(
      nodes_alone, static_cast<int>(env::parse_integer("--sockets", *sockets, 1, width)));
}

}  // namespace weft::cli
