// Verification of many cases, on several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/options/algorithm_names.hpp"
#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

/// A case to verify: the plans of an algorithm for a problem on a machine. All that it points to
/// must outlive it.
struct Case {
  const Algorithm* algorithm = nullptr;
  const hierarchy::Machine* machine = nullptr;
  const plan::Problem* problem = nullptr;
  std::string counts = {};  // of an alltoallv: the kind (counts.hpp)
};

/// Result of a case: the number of things checked, and the errors found.
struct Proof {
  std::uint64_t plans = 0;
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;         // sends
  std::vector<std::string> findings;  // one line each; empty when all is correct

  bool holds() const { return findings.empty(); }
};

/// Verifies plans, one a rank, by rank.
Proof prove(const plan::Problem& problem, const hierarchy::Machine& machine,
            std::span<const plan::Plan> plans);

/// The proof of each case, in their order, made on `threads` threads, with a progress bar.
std::vector<Proof> prove_all(std::span<const Case> cases, int threads);

}  // namespace weft::cli
