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

/// Of `ranks` ranks, with buffers of at least so many bytes.
void check_plan(int ranks, int rank, const Plan& plan, std::uint64_t input_bytes,
                std::uint64_t output_bytes, Findings& findings) {
  const auto bad = [&](std::string detail) {
    findings.add(Flaw::shape, rank, kNoOp, std::move(detail));
  };
  if (plan.rank() != rank || plan.ranks() != ranks) {
    bad(fmt::format("its plan is for rank {} of {}, expected {} of {}", plan.rank(), plan.ranks(),
                    rank, ranks));
  }
  const auto expect = [&](Space space, std::uint64_t bytes) {
    if (plan.space_bytes(space) >= bytes) return;
    bad(fmt::format("its plan has {} bytes of {}, the problem {}", plan.space_bytes(space),
                    to_string(space), bytes));
  };
  expect(Space::input, input_bytes);
  expect(Space::output, output_bytes);
}

bool check_counts(std::size_t ranks, std::span<const int> node_of_rank, std::span<const Plan> plans,
                  Findings& findings) {
  if (plans.size() == ranks && node_of_rank.size() == ranks) return true;
  findings.add(Flaw::shape, -1, kNoOp,
               fmt::format("{} plans and the nodes of {} ranks, for a problem of {} ranks",
                           plans.size(), node_of_rank.size(), ranks));
  return false;
}

std::vector<Block> blocks_of(std::span<const Edge> edges) {
  std::vector<Block> blocks;
  for (const Edge& edge : edges) blocks.push_back(edge.block);
  return blocks;
}

/// The sizes of the edges from one rank to another, in order.
std::vector<std::uint64_t> sizes_to(std::span<const Edge> edges, int rank) {
  std::vector<std::uint64_t> sizes;
  for (const Edge& edge : edges) {
    if (edge.rank == rank) sizes.push_back(edge.block.bytes);
  }
  return sizes;
}

bool check_edges(std::span<const Edges> edges, Findings& findings) {
  const auto bad = [&](std::string detail) {
    findings.add(Flaw::shape, -1, kNoOp, std::move(detail));
    return false;
  };
  const int ranks = static_cast<int>(edges.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Edges& own = edges[static_cast<std::size_t>(rank)];
    for (const auto* list : {&own.out, &own.in}) {
      for (const Edge& edge : *list) {
        if (edge.rank >= 0 && edge.rank < ranks) continue;
        return bad(fmt::format("an edge of rank {} with rank {} of {}", rank, edge.rank, ranks));
      }
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const Edges& own = edges[static_cast<std::size_t>(rank)];
    if (!check_apart(blocks_of(own.in), fmt::format("rank {}'s edges in", rank), bad)) return false;
    for (int peer = 0; peer < ranks; ++peer) {
      const auto& others = edges[static_cast<std::size_t>(peer)].in;
      if (sizes_to(own.out, peer) == sizes_to(others, rank)) continue;
      return bad(fmt::format("the edges of rank {} to rank {} are not those that come in there",
                             rank, peer));
    }
  }
  return true;
}

}  // namespace

void check_shape(const Problem& problem, std::span<const int> node_of_rank,
                 std::span<const Plan> plans, Findings& findings) {
  if (!check_problem(problem, findings)) return;
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  if (!check_counts(ranks, node_of_rank, plans, findings)) return;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    check_plan(problem.ranks, rank, plans[static_cast<std::size_t>(rank)],
               problem.input_bytes(rank), problem.output_bytes(rank), findings);
  }
}

void check_shape(std::span<const Edges> edges, std::span<const int> node_of_rank,
                 std::span<const Plan> plans, Findings& findings) {
  if (!check_edges(edges, findings)) return;
  if (!check_counts(edges.size(), node_of_rank, plans, findings)) return;
  for (std::size_t rank = 0; rank < edges.size(); ++rank) {
    check_plan(static_cast<int>(edges.size()), static_cast<int>(rank), plans[rank],
               end_of(blocks_of(edges[rank].out)), end_of(blocks_of(edges[rank].in)), findings);
  }
}

}  // namespace weft::plan
