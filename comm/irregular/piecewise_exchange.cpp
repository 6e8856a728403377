#include "comm/irregular/piecewise_exchange.hpp"

#include <algorithm>
#include <numeric>

#include "base/cast.hpp"

namespace weft::comm {

namespace {

// Of a side, packed at once; the pieces of short blocks add a quarter at most.
constexpr std::size_t kAtOnce = 2 << 20;

/// The bytes of a block that go in each run until it ends. Short blocks go in fewer runs than long
/// ones, so that there are no runs of a few bytes for each rank.
std::size_t piece_bytes(std::size_t bytes, std::size_t ranks, std::uint64_t runs) {
  return std::max<std::size_t>(ceil_div(bytes, runs), kAtOnce / 4 / ranks);
}

}  // namespace

std::uint64_t PiecewiseExchange::Side::bytes() const {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
}

std::size_t PiecewiseExchange::Side::cut(std::uint64_t runs, std::uint64_t number) {
  pieces.resize(blocks.size());
  std::size_t all = 0;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    const std::size_t each = piece_bytes(blocks[rank], blocks.size(), runs);
    const std::size_t from = std::min<std::size_t>(number * each, blocks[rank]);
    pieces[rank] = {all, std::min(each, blocks[rank] - from)};
    all += pieces[rank].bytes;
  }
  return all;
}

template <class Each>
void PiecewiseExchange::Side::for_each_piece(std::uint64_t runs, std::uint64_t number,
                                             Each each) const {
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    const Part& piece = pieces[rank];
    if (piece.bytes == 0) continue;
    const std::size_t from = number * piece_bytes(blocks[rank], blocks.size(), runs);
    each(static_cast<int>(rank), from, from + piece.bytes, memory.get() + piece.offset);
  }
}

/// Collective. At least 1, so that those whose sizes do not fit together meet.
std::uint64_t PiecewiseExchange::agree_on_runs(const std::function<void(const Task&)>& run) {
  const std::uint64_t longest = std::max({sends_.bytes(), receives_.bytes(), std::uint64_t{1}});
  const std::uint64_t mine = ceil_div(longest, kAtOnce);
  std::uint64_t most = 0;
  Task task{.input = reinterpret_cast<const std::byte*>(&mine),
            .output = reinterpret_cast<std::byte*>(&most),
            .operation = operation(Operator::maximum, Type::uint64)};
  plan::Problem& problem = task.problem;
  problem.collective = plan::Collective::allreduce;
  problem.ranks = resources_.size();
  problem.block_bytes = problem.stride = problem.element_bytes = sizeof mine;
  problem.commutative = task.operation.commutative;
  problem.associative = task.operation.associative;
  run(task);
  return most;
}

void PiecewiseExchange::run(const std::function<void(const Task&)>& run) {
  const std::uint64_t runs = agree_on_runs(run);
  for (std::uint64_t number = 0; number < runs; ++number) {
    Task task;
    resources_.guarded([&] {
      for (Side* const side : {&sends_, &receives_}) {
        const std::size_t bytes = side->cut(runs, number);
        // The first run is the largest.
        if (number == 0) side->memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
      }
      sends_.for_each_piece(runs, number, packer_.pack);
      task.problem.collective = plan::Collective::alltoallv;
      task.problem.ranks = resources_.size();
    });
    task.input = sends_.memory.get();
    task.output = receives_.memory.get();
    task.sends = sends_.pieces;
    task.receives = receives_.pieces;
    run(task);
    resources_.guarded([&] { receives_.for_each_piece(runs, number, packer_.unpack); });
  }
}

}  // namespace weft::comm
