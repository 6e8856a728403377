// Options of `weft check`: the algorithms, machines and problems to verify.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/algorithm_names.hpp"
#include "cli/options/command.hpp"
#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

struct CheckOptions {
  Text collective, ranks, placements, seed, bytes, stride, root, operation, counts, jobs;
  std::vector<std::string> machines, algorithms, files;
  bool in_place = false;
  bool json = false;
};

/// The size and distance of a problem's blocks.
struct Blocks {
  std::uint64_t bytes;
  std::optional<std::uint64_t> stride;
};

void add_options(Command& command, CheckOptions& options);

/// The collective; UsageError for options that it does not take.
plan::Collective read_collective(const CheckOptions& options);
std::vector<Blocks> read_blocks(const CheckOptions& options);
/// The machines to check on, in ascending order of ranks.
std::vector<hierarchy::Machine> read_machines(const CheckOptions& options);
/// The algorithms to check on some number of ranks.
std::vector<Algorithm> read_algorithms(const CheckOptions& options, plan::Collective collective,
                                       int ranks);
/// A problem; of an alltoallv also the kind of its counts.
struct Variation {
  plan::Problem problem;
  std::string counts = {};
};
/// The problem with every root (the first, the last and one between, unless one is given), every
/// kind of operation (unless one is given) and every kind of counts (unless some are given).
std::vector<Variation> vary(const CheckOptions& options, const plan::Problem& problem);

}  // namespace weft::cli
