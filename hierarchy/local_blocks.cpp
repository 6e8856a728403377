#include "hierarchy/local_blocks.hpp"

#include "base/error.hpp"

namespace weft::hierarchy {

using plan::Slice;
using plan::Space;

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
  if (!in_place_) sends_ = rows_of(problem.sends, "sends");
  receives_ = rows_of(problem.receives, "receives");
  check();
}

LocalBlocks::LocalBlocks(const Machine& machine, int node, Rows sends, Rows receives, bool in_place)
    : machine_(&machine),
      node_(node),
      in_place_(in_place),
      sends_(std::move(sends)),
      receives_(std::move(receives)) {
  check();
}

void LocalBlocks::check() const {
  const std::size_t width = machine_->ranks_on(node_).size();
  const auto expect = [&](const Rows& rows, std::size_t count, std::string_view what) {
    if (rows.size() != count) {
      throw_usage("alltoallv: {} rows of {} on node {}, expected {}", rows.size(), what, node_,
                  count);
    }
    for (const auto& row : rows) {
      if (row.size() == static_cast<std::size_t>(ranks())) continue;
      throw_usage("alltoallv of {} ranks: a row of {} blocks in the {} of node {}", ranks(),
                  row.size(), what, node_);
    }
  };
  expect(sends_, in_place_ ? 0 : width, "sends");
  expect(receives_, width, "receives");
}

void LocalBlocks::refuse(int rank) const {
  throw_usage("alltoallv: the counts of rank {} on node {} are not known on node {}", rank,
              machine_->node_of(rank), node_);
}

Slice LocalBlocks::source(int local, int to) const {
  const plan::Block block = sent(local, to);
  return Slice::contiguous(in_place_ ? Space::output : Space::input, local, block.offset,
                           block.bytes);
}

Slice LocalBlocks::target(int local, int from) const {
  const plan::Block block = received(local, from);
  return Slice::contiguous(Space::output, local, block.offset, block.bytes);
}

std::uint64_t LocalBlocks::input_bytes(int local) const {
  if (in_place_) return 0;
  if (constant_bytes_) return output_bytes(local);
  return plan::end_of(sends_[static_cast<std::size_t>(machine_->place_of(local))]);
}

std::uint64_t LocalBlocks::output_bytes(int local) const {
  if (constant_bytes_) {
    return *constant_bytes_ == 0
               ? 0
               : static_cast<std::uint64_t>(ranks() - 1) * stride_ + *constant_bytes_;
  }
  return plan::end_of(receives_[static_cast<std::size_t>(machine_->place_of(local))]);
}

}  // namespace weft::hierarchy
