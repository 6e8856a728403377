#include "cli/options/scenario.hpp"

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/problem_options.hpp"

namespace weft::cli {

namespace {

constexpr int kMostSimulatedRanks = 1 << 20;

/// The machine of --uneven. --nodes and --ppn may be given, too, and must agree with it: the number
/// of nodes, and of ranks on the fullest node.
hierarchy::Machine read_uneven(const std::string& uneven, const MachineOptions& others) {
  if (others.machine || others.sockets || others.placement) {
    throw_usage(
        "--uneven={}: describes all of it; not together with --machine, --sockets or --placement",
        uneven);
  }
  MachineOptions asked;
  asked.machine = uneven;
  auto machine = asked.read(kMostSimulatedRanks);
  const auto expect = [&](std::string_view option, const Text& text, int number) {
    if (!text || env::parse_integer(option, *text, 1, kMostSimulatedRanks) == number) return;
    throw_usage("{}={}: --uneven={} has {}", option, *text, uneven, number);
  };
  expect("--nodes", others.nodes, machine.nodes());
  expect("--ppn", others.ppn, machine.widest());
  return machine;
}

hierarchy::Machine read_machine(const ScenarioOptions& options) {
  if (options.uneven) return read_uneven(*options.uneven, options.machine);
  return options.machine.read(kMostSimulatedRanks);
}

void check_options(const ScenarioOptions& options, plan::Collective collective) {
  const auto only = [&](std::string_view option, const Text& text, bool is_right) {
    if (text && !is_right) {
      throw_usage("{}={}: {} takes none", option, *text, to_string(collective));
    }
  };
  only("--root", options.root, is_rooted(collective));
  only("--element", options.element, is_reduction(collective));
  only("--operation", options.operation, is_reduction(collective));
  only("--counts", options.counts, collective == plan::Collective::alltoallv);
  if (options.in_place && !is_alltoall(collective)) {
    throw_usage("--in-place: {} takes none", to_string(collective));
  }
  only("--bytes", options.bytes, collective != plan::Collective::barrier);
}

std::vector<std::uint64_t> read_sizes(const ScenarioOptions& options, plan::Collective collective) {
  if (collective == plan::Collective::barrier) return {0};
  return parse_sizes("--bytes", required(options.bytes, "--bytes, the sizes of a block,"), 0,
                     kMostBlockBytes);
}

}  // namespace

void ScenarioOptions::add_to(Command& command) {
  command.add_option("collective", collective, "COLLECTIVE",
                     "What to run: alltoall, broadcast, ...");
  machine.add_to(command);
  command.add_option("--uneven", uneven, "A+B+..",
                     "Ranks on each node: 1+3+4 (as --machine); --nodes and --ppn, the\nmost on a "
                     "node, may be given too");
  command.add_option("--nic", nic, "NIC",
                     "Adapter and nodes: a name in the catalogue, or a file (.json)");
  command.add_option("--bytes", bytes, "B,..",
                     "Sizes of a block, joined by commas (K to E: powers of 1024;\n8..1K: each "
                     "twice the one before)");
  command.add_option("--root", root, "R", "Root of rooted collectives [0]");
  command.add_option("--element", element, "B", "Size of an element of reductions [1]");
  command.add_option("--operation", operation, "HOW",
                     "What reductions may rely on: commutative, ordered, exact [commutative]");
  command.add_option("--counts", counts, "KIND",
                     "Counts of alltoallv: equal, random, sparse, few, skew, of --bytes each "
                     "or\non average [equal]");
  command.add_flag("--in-place", in_place, "Alltoall and alltoallv in place");
}

Scenario::Scenario(const ScenarioOptions& options)
    : options_(options),
      collective_(parse_collective(options.collective)),
      machine_(read_machine(options)),
      profile_(nic_profiles::load(
          required(options.nic, "--nic, a name in the catalogue or a file (.json),"))) {
  check_options(options, collective_);
  sizes_ = read_sizes(options, collective_);
}

plan::Problem Scenario::problem(std::uint64_t bytes) const {
  auto problem = without_counts(bytes);
  if (collective_ == plan::Collective::alltoallv) set_counts(problem, counts());
  return problem;
}

plan::Plan Scenario::plan(const registry::Algorithm& algorithm, const plan::Problem& without_counts,
                          int rank) const {
  if (collective_ != plan::Collective::alltoallv) {
    return algorithm.plan(without_counts, machine_, rank);
  }
  const int node = machine_.node_of(rank);
  std::vector<std::vector<plan::Block>> rows;
  hierarchy::LocalBlocks::Rows sends, receives;
  const auto local = machine_.ranks_on(node);
  for (const bool sent : {true, false}) {
    for (const int one : local) rows.push_back(row_of(without_counts, counts(), one, sent));
  }
  for (std::size_t i = 0; i < local.size(); ++i) {
    sends.emplace_back(rows[i]);
    receives.emplace_back(rows[local.size() + i]);
  }
  if (without_counts.in_place) sends.clear();
  const hierarchy::LocalBlocks blocks(machine_, node, sends, receives, without_counts.in_place);
  return algorithm.plan(blocks, machine_, rank);
}

std::string Scenario::counts() const {
  std::string kind = options_.counts.value_or("equal");
  check_counts(kind);
  return kind;
}

plan::Problem Scenario::without_counts(std::uint64_t bytes) const {
  const int ranks = machine_.ranks();
  auto problem = make_problem(collective_, ranks, bytes, {});
  if (options_.root) {
    problem.root = static_cast<int>(env::parse_integer("--root", *options_.root, 0, ranks - 1));
  }
  if (options_.element) {
    problem.element_bytes = env::parse_bytes("--element", *options_.element, 1, 1 << 20);
    if (bytes % problem.element_bytes != 0) {
      throw_usage("--element={}: blocks of {} bytes are not of whole elements", *options_.element,
                  bytes);
    }
  }
  if (options_.operation) set_operation(problem, *options_.operation);
  problem.in_place = options_.in_place;
  return problem;
}

}  // namespace weft::cli
