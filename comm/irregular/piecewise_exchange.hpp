// Piecewise exchange: an alltoallv of blocks that callers pack and unpack, in as many runs as keep
// what is packed at once below a few MiB.
//
// The number of runs follows from the longest row of all ranks, which they ask one another. Each
// block is then cut by its bytes alone, which both of its ends know. Runs have the same sizes but
// the last ones, so they share their plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"

namespace weft::comm {

/// For one call.
class PiecewiseExchange {
 public:
  /// Bytes to each rank and from each, PeerError on all ranks where one cannot pack. `packer` lives
  /// as long as this.
  PiecewiseExchange(Resources& resources, std::span<const std::size_t> sends,
                    std::span<const std::size_t> receives, const Packer& packer)
      : resources_(resources), sends_{sends}, receives_{receives}, packer_(packer) {}

  /// `run` carries out a collective of the communicator.
  void run(const std::function<void(const Task&)>& run);

 private:
  /// One direction: its blocks, and where their pieces of a run lie, one after another.
  struct Side {
    std::span<const std::size_t> blocks;
    std::vector<Part> pieces = {};
    std::unique_ptr<std::byte[]> memory = {};

    std::uint64_t bytes() const;
    /// Of run `number` of `runs`; returns their bytes.
    std::size_t cut(std::uint64_t runs, std::uint64_t number);
    /// each(rank, from, to, memory) for the pieces of run `number` that have bytes.
    template <class Each>
    void for_each_piece(std::uint64_t runs, std::uint64_t number, Each each) const;
  };
  std::uint64_t agree_on_runs(const std::function<void(const Task&)>& run);

  Resources& resources_;
  Side sends_, receives_;
  const Packer& packer_;
};

}  // namespace weft::comm
