#include "hierarchy/local_blocks.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::hierarchy {

LocalBlocks::LocalBlocks(const plan::Problem& problem, const Machine& machine, int node)
    : machine_(&machine), node_(node), in_place_(problem.in_place) {
  if (problem.collective == plan::Collective::alltoall) {
    constant_bytes_ = problem.block_bytes;
    stride_ = problem.stride;
    return;
  }
  const auto rows_of = [&](const auto& all, std::string_view what) {
    if (all.size() != static_cast<std::size_t>(machine.ranks())) {
      throw_usage("alltoallv of {} ranks: {} rows of {}, expected one a rank", machine.ranks(),
                  all.size(), what);
    }
    Rows rows;
    for (const int rank : machine.ranks_on(node)) {
      rows.emplace_back(all[static_cast<std::size_t>(rank)]);
    }
    return rows;
  };
  const auto local = machine.ranks_on(node);
  if (!in_place_) learn(local, rows_of(problem.sends, "sends"), "sends", sends_);
  learn(local, rows_of(problem.receives, "receives"), "receives", receives_);
}

LocalBlocks::LocalBlocks(const Machine& machine, int node, const Rows& sends, const Rows& receives,
                         bool in_place)
    : LocalBlocks(machine, node, in_place) {
  const auto local = machine.ranks_on(node);
  learn(in_place ? local.first(0) : local, sends, "sends", sends_);
  learn(local, receives, "receives", receives_);
}

LocalBlocks LocalBlocks::of_rank(const Machine& machine, int rank,
                                 std::span<const plan::Block> sends,
                                 std::span<const plan::Block> receives, bool in_place) {
  LocalBlocks blocks(machine, machine.node_of(rank), in_place);
  if (!in_place) blocks.learn({&rank, 1}, {sends}, "sends", blocks.sends_);
  blocks.learn({&rank, 1}, {receives}, "receives", blocks.receives_);
  return blocks;
}

void LocalBlocks::learn(std::span<const int> of, const Rows& rows, std::string_view what,
                        Known& known) const {
  if (rows.size() != of.size()) {
    throw_usage("alltoallv: {} rows of {} on node {}, expected {}", rows.size(), what, node_,
                of.size());
  }
  known.resize(static_cast<std::size_t>(ranks()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != known.size()) {
      throw_usage("alltoallv of {} ranks: a row of {} blocks in the {} of node {}", ranks(),
                  rows[i].size(), what, node_);
    }
    known[static_cast<std::size_t>(of[i])] = rows[i].data();
  }
}

void LocalBlocks::refuse(int rank) const {
  throw_usage("alltoallv: the counts of rank {} on node {} are not known on node {}", rank,
              machine_->node_of(rank), node_);
}

std::span<const plan::Block> LocalBlocks::row(const Known& known, int local) const {
  const plan::Block* first = known[static_cast<std::size_t>(local)];
  if (first == nullptr) refuse(local);
  return {first, static_cast<std::size_t>(ranks())};
}

std::uint64_t LocalBlocks::largest(int local) const {
  if (constant_bytes_) return *constant_bytes_;
  std::uint64_t most = 0;
  for (const plan::Block& block : row(receives_, local)) most = std::max(most, block.bytes);
  if (in_place_) return most;
  for (const plan::Block& block : row(sends_, local)) most = std::max(most, block.bytes);
  return most;
}

std::uint64_t LocalBlocks::input_bytes(int local) const {
  if (in_place_) return 0;
  return constant_bytes_ ? output_bytes(local) : plan::end_of(row(sends_, local));
}

std::uint64_t LocalBlocks::output_bytes(int local) const {
  if (!constant_bytes_) return plan::end_of(row(receives_, local));
  return *constant_bytes_ == 0
             ? 0
             : static_cast<std::uint64_t>(ranks() - 1) * stride_ + *constant_bytes_;
}

}  // namespace weft::hierarchy
