#include "cli/check/check_options.hpp"

#include <algorithm>
#include <set>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/check/placements.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/machine_options.hpp"
#include "cli/options/problem_options.hpp"

namespace weft::cli {

namespace {

/// The default of --bytes: adjacent blocks, which join into long slices, and blocks of odd size
/// with gaps, which do not.
const std::vector<Blocks> kDefaultBlocks = {{1, std::nullopt}, {7, 16}, {64, std::nullopt}};

}  // namespace

std::vector<Blocks> read_blocks(const CheckOptions& options) {
  const auto stride = parse_stride(options.stride);
  if (!options.bytes) {
    if (stride) throw_usage("--stride={}: needs --bytes", *stride);
    return kDefaultBlocks;
  }
  std::vector<Blocks> blocks;
  for (const auto bytes : parse_sizes("--bytes", *options.bytes, 0, kMostBlockBytes)) {
    blocks.push_back({bytes, stride});
  }
  return blocks;
}

std::vector<hierarchy::Machine> read_machines(const CheckOptions& options) {
  std::vector<hierarchy::Machine> machines;
  if (!options.machines.empty()) {
    for (const auto& [name, text] :
         {std::pair("--ranks", &options.ranks), std::pair("--placements", &options.placements),
          std::pair("--seed", &options.seed)}) {
      if (*text) throw_usage("{}={}: not together with --machine", name, **text);
    }
    for (const std::string& text : options.machines) machines.push_back(parse_machine(text));
    return machines;
  }
  const Range range = parse_range("--ranks", options.ranks.value_or("1..16"), 1, kMostRanks);
  const auto count = static_cast<int>(
      env::parse_integer("--placements", options.placements.value_or("6"), 1, 1000));
  const auto seed = static_cast<std::uint64_t>(
      env::parse_integer("--seed", options.seed.value_or("1"), 0, INT64_MAX));
  for (int ranks = range.first; ranks <= range.last; ++ranks) {
    std::ranges::move(placements(ranks, count, seed), std::back_inserter(machines));
  }
  return machines;
}

std::vector<Algorithm> read_algorithms(const CheckOptions& options, plan::Collective collective,
                                       int ranks) {
  if (options.algorithms.empty()) return algorithm_variants(collective, ranks);
  std::vector<Algorithm> algorithms;
  for (const auto& text : options.algorithms) {
    algorithms.push_back(Algorithm::parse(collective, text));
  }
  return algorithms;
}

std::vector<Variation> vary(const CheckOptions& options, const plan::Problem& problem) {
  std::vector<Variation> varied;
  if (problem.collective == plan::Collective::alltoallv) {
    for (const std::string_view kind : kCounts) {
      if (options.counts && *options.counts != kind) continue;
      Variation& one = varied.emplace_back(problem, std::string(kind));
      one.problem.in_place = options.in_place;
      set_counts(one.problem, kind);
    }
    return varied;
  }
  std::set<int> roots = {problem.root};
  if (is_rooted(problem.collective)) {
    roots = {0, problem.ranks / 2, problem.ranks - 1};
    if (options.root) {
      roots = {static_cast<int>(env::parse_integer("--root", *options.root, 0, problem.ranks - 1))};
    }
  }
  for (const int root : roots) {
    plan::Problem one = problem;
    one.root = root;
    one.in_place = options.in_place;
    if (!is_reduction(problem.collective)) {
      varied.emplace_back(one);
      continue;
    }
    for (const std::string_view operation : kOperations) {
      if (options.operation && *options.operation != operation) continue;
      set_operation(varied.emplace_back(one).problem, operation);
    }
  }
  return varied;
}

plan::Collective read_collective(const CheckOptions& options) {
  const auto collective = parse_collective(options.collective);
  const auto expect = [&](std::string_view option, const Text& text, bool is_right) {
    if (text && !is_right) {
      throw_usage("{}={}: {} takes none", option, *text, to_string(collective));
    }
  };
  expect("--root", options.root, is_rooted(collective));
  expect("--operation", options.operation, is_reduction(collective));
  expect("--counts", options.counts, collective == plan::Collective::alltoallv);
  if (options.counts) parse_choice("--counts", *options.counts, {kCounts.begin(), kCounts.end()});
  if (options.in_place && !is_alltoall(collective)) {
    throw_usage("--in-place: {} takes none", to_string(collective));
  }
  plan::Problem any;
  if (options.operation) set_operation(any, *options.operation);
  return collective;
}

void add_options(Command& command, CheckOptions& options) {
  command.add_option("collective", options.collective, "COLLECTIVE",
                     "What to check: alltoall, broadcast, ...");
  command.add_option("--ranks", options.ranks, "A..B", "Numbers of ranks, N or A..B [1..16]");
  command.add_option("--placements", options.placements, "N",
                     "Placements for each number of ranks: even blocks, cyclic, uneven\n"
                     "blocks, one rank a node, one node, then random ones, half of them with\n"
                     "sockets [6]");
  command.add_option("--seed", options.seed, "N", "Seed of the random placements [1]");
  command.add_repeated("--machine", options.machines, "M",
                       "Instead of --ranks: this placement, 3x4, 3x4:cyclic, 1+3+4 (ranks a\n"
                       "node) or 0,1,0,1 (the node of each rank), with sockets 3x2x4 or 1+3+4/2\n"
                       "(repeatable)");
  command.add_repeated(
      "--algorithm", options.algorithms, "A",
      "Check this algorithm only (repeatable) [every variant of every\nalgorithm]");
  command.add_option("--bytes", options.bytes, "B,...",
                     "Block sizes, comma separated [1, 64, and 7 with a stride of 16]");
  command.add_option("--stride", options.stride, "B", "Distance of the blocks [their size]");
  command.add_option("--root", options.root, "R",
                     "Root of rooted collectives [first, middle and last]");
  command.add_option("--operation", options.operation, "HOW",
                     "What reductions may rely on: commutative, ordered (not commutative),\n"
                     "exact (associative to the bit, too) [each]");
  command.add_option("--counts", options.counts, "KIND",
                     "Counts of alltoallv: random, equal, sparse, few, skew, of --bytes\n"
                     "each or on average [each]");
  command.add_flag("--in-place", options.in_place, "Alltoall and alltoallv in place");
  command.add_repeated("--file", options.files, "PATH",
                       "Verify the plans in this file, folder or standard input (-) instead:\n"
                       "one plan a rank (repeatable; with --machine and --bytes)");
  command.add_option("--jobs", options.jobs, "N", "Threads [the cores there are]");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace weft::cli
