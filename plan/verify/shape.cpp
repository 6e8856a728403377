#include <algorithm>

#include <fmt/format.h>

#include "plan/verify/checks.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t kMaxBytes = 1ull << 62;

/// Blocks that are apart and within 2^62.
template <class Bad>
bool check_apart(std::vector<Block> blocks, std::string_view what, const Bad& bad) {
  std::erase_if(blocks, [](const Block& block) { return block.bytes == 0; });
  std::ranges::sort(blocks, {}, &Block::offset);
  std::uint64_t end = 0;
  for (const Block& block : blocks) {
    if (block.offset < end)
      return bad(fmt::format("blocks of {} overlap at byte {}", what, block.offset));
    if (block.offset > kMaxBytes || block.bytes > kMaxBytes - block.offset) {
      return bad(fmt::format("a block at {} of {} bytes passes 2^62", block.offset, block.bytes));
    }
    end = block.offset + block.bytes;
  }
  return true;
}

/// One block a rank.
template <class Bad>
bool check_layout(const Problem& problem, const Bad& bad) {
  if (problem.layout.empty()) return true;
  if (is_alltoall(problem.collective)) {
    return bad(fmt::format("an {} has no layout", to_string(problem.collective)));
  }
  if (problem.layout.size() != static_cast<std::size_t>(problem.ranks)) {
    return bad(
        fmt::format("a layout of {} blocks for {} ranks", problem.layout.size(), problem.ranks));
  }
  return check_apart(problem.layout, "the layout", bad);
}

/// Rows of all ranks, of a block a rank each, that agree on the size of each pair's block.
template <class Bad>
bool check_pairs(const Problem& problem, const Bad& bad) {
  if (problem.in_place && !is_alltoall(problem.collective)) {
    return bad(
        fmt::format("{} in place: only alltoall and alltoallv", to_string(problem.collective)));
  }
  if (problem.collective != Collective::alltoallv) {
    if (problem.sends.empty() && problem.receives.empty()) return true;
    return bad(fmt::format("{} with blocks for pairs of ranks: only alltoallv",
                           to_string(problem.collective)));
  }
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const auto whole = [&](const auto& rows) {
    return rows.size() == ranks &&
           std::ranges::all_of(rows, [&](const auto& row) { return row.size() == ranks; });
  };
  if (!(problem.in_place ? problem.sends.empty() : whole(problem.sends)) ||
      !whole(problem.receives)) {
    return bad(fmt::format(
        "expected {} of {} blocks for {} ranks",
        problem.in_place ? "rows of receives, none of sends," : "rows of sends and of receives",
        ranks, ranks));
  }
  for (int rank = 0; rank < problem.ranks; ++rank) {
    if (!check_apart(problem.receives[static_cast<std::size_t>(rank)],
                     fmt::format("rank {}'s receives", rank), bad)) {
      return false;
    }
    for (int peer = 0; peer < problem.ranks; ++peer) {
      const Block sent = problem.sent(rank, peer);
      const std::uint64_t received = problem.received(peer, rank).bytes;
      if (sent.bytes != received) {
        return bad(fmt::format("rank {} sends {} bytes to rank {}, which receives {}", rank,
                               sent.bytes, peer, received));
      }
      if (sent.offset > kMaxBytes || sent.bytes > kMaxBytes - sent.offset) {
        return bad(fmt::format("a block at {} of {} bytes passes 2^62", sent.offset, sent.bytes));
      }
    }
  }
  return true;
}

template <class Bad>
bool check_elements(const Problem& problem, const Bad& bad) {
  if (!is_reduction(problem.collective)) return true;
  const std::uint64_t size = problem.element_bytes;
  if (size == 0) return bad("elements of 0 bytes: at least 1");
  const auto whole = [&](const Block& block) {
    return block.offset % size == 0 && block.bytes % size == 0;
  };
  if (problem.block_bytes % size != 0 || problem.stride % size != 0 ||
      !std::ranges::all_of(problem.layout, whole)) {
    return bad(fmt::format("blocks must be of whole elements of {} bytes", size));
  }
  return true;
}

bool check_problem(const Problem& problem, Findings& findings) {
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
  if (is_rooted(problem.collective) && (problem.root < 0 || problem.root >= problem.ranks)) {
    return bad(fmt::format("root {}: from 0 to {}", problem.root, problem.ranks - 1));
  }
  return check_layout(problem, bad) && check_pairs(problem, bad) && check_elements(problem, bad);
}

void check_plan(const Problem& problem, int rank, const Plan& plan, Findings& findings) {
  const auto bad = [&](std::string detail) {
    findings.add(Flaw::shape, rank, kNoOp, std::move(detail));
  };
  if (plan.rank() != rank || plan.ranks() != problem.ranks) {
    bad(fmt::format("its plan is for rank {} of {}, expected {} of {}", plan.rank(), plan.ranks(),
                    rank, problem.ranks));
  }
  const auto expect = [&](Space space, std::uint64_t bytes) {
    if (plan.space_bytes(space) >= bytes) return;
    bad(fmt::format("its plan has {} bytes of {}, the problem {}", plan.space_bytes(space),
                    to_string(space), bytes));
  };
  expect(Space::input, problem.input_bytes(rank));
  expect(Space::output, problem.output_bytes(rank));
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
