#include <fmt/format.h>

#include "plan/checks.hpp"

namespace weft::plan {

namespace {

bool check_problem(const Problem& problem, Findings& findings) {
  constexpr std::uint64_t kMaxBytes = 1ull << 62;
  const auto bad = [&](std::string detail) {
    findings.add(Flaw::shape, -1, kNoOp, std::move(detail));
    return false;
  };
  if (problem.ranks < 1)
    return bad(fmt::format("a problem of {} ranks: at least 1", problem.ranks));
  if (problem.stride < problem.block_bytes) {
    return bad(fmt::format("stride {} below the {} bytes of a block", problem.stride,
                           problem.block_bytes));
  }
  if (problem.stride > kMaxBytes / static_cast<std::uint64_t>(problem.ranks)) {
    return bad(fmt::format("stride {} x {} ranks passes 2^62", problem.stride, problem.ranks));
  }
  return true;
}

void check_plan(const Problem& problem, int rank, const Plan& plan, Findings& findings) {
  const auto bad = [&](std::string detail) {
    findings.add(Flaw::shape, rank, kNoOp, std::move(detail));
  };
  if (plan.rank() != rank || plan.ranks() != problem.ranks) {
    bad(fmt::format("its plan is for rank {} of {}, expected {} of {}", plan.rank(), plan.ranks(),
                    rank, problem.ranks));
  }
  for (const Space space : {Space::input, Space::output}) {
    if (plan.space_bytes(space) < problem.buffer_bytes()) {
      bad(fmt::format("its plan has {} bytes of {}, the problem {}", plan.space_bytes(space),
                      to_string(space), problem.buffer_bytes()));
    }
  }
}

}  // namespace

void check_shape(const Problem& problem, std::span<const int> node_of_rank,
                 std::span<const Plan> plans, Findings& findings) {
  if (!check_problem(problem, findings)) return;
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  if (plans.size() != ranks || node_of_rank.size() != ranks) {
    findings.add(Flaw::shape, -1, kNoOp,
                 fmt::format("{} plans and the nodes of {} ranks, for a problem of {} ranks",
                             plans.size(), node_of_rank.size(), ranks));
    return;
  }
  for (int rank = 0; rank < problem.ranks; ++rank) {
    check_plan(problem, rank, plans[static_cast<std::size_t>(rank)], findings);
  }
}

}  // namespace weft::plan
