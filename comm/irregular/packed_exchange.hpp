// Packed exchange: an alltoallv inside a node of blocks that callers pack and unpack in parts. What
// receivers reach where it lies, they copy themselves (DirectCopies). Of other blocks each rank
// packs a part into shared memory of its own, from where the receivers unpack it: as much at a time
// as stays in a core's cache, so no block is ever packed whole. A small block goes with the news of
// its size.
//
// The shared memory has two halves, which rounds use in turns, those of all calls numbered as one.
// In each round ranks pack into a half, meet, and unpack from the others'; so when a rank packs
// into a half again, all have unpacked what was there: they have come to the meeting of the round
// between. In the first round of a call they meet by the news, in others by a barrier. How many
// rounds there are follows from the largest block, which all know from the news. Blocks that are
// copied directly are free again at the last of these barriers, or at one of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/irregular/direct_copies.hpp"
#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"
#include "engine/node/stages.hpp"
#include "plan/problem.hpp"

namespace weft::comm {

/// For one communicator.
class PackedExchange {
 public:
  static constexpr const char* kAlgorithm = "packed";
  /// Of a call in which all blocks of this rank that are not small are copied by their receivers.
  static constexpr const char* kDirectAlgorithm = "direct";

  /// Whether it serves this communicator: the same on all ranks. WEFT_ALLTOALLV names the algorithm
  /// of every alltoallv, which this one is not.
  static bool serves(const Resources& resources) {
    return resources.machine().nodes() == 1 && resources.size() > 1 &&
           !resources.settings().algorithms.contains(plan::Collective::alltoallv);
  }

  explicit PackedExchange(Resources& resources);

  /// Bytes to each rank and from each. `run` carries out a collective of the communicator.
  /// PeerError on all ranks where one sends other sizes than are received, or cannot pack. Returns
  /// the name of the algorithm.
  const char* run(std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                  const Packer& packer, const std::function<void(const Task&)>& run);
  /// Shared memory of this rank.
  std::uint64_t memory_bytes() const {
    return memory_ ? 2 * memory_->half_bytes() + direct_.memory_bytes() : 0;
  }
  /// Adds what the calls so far had for each rank.
  void add_sent(std::span<std::uint64_t> bytes) const;

 private:
  /// Of one block.
  struct News {
    static constexpr std::size_t kInside = 192;
    std::uint64_t bytes = 0;
    std::uint64_t most = 0;       // of the sender's blocks that go in rounds
    std::uint64_t any_shown = 0;  // of the sender's blocks
    Shown shown;
    std::byte inside[kInside] = {};
  };

  void tell(std::span<const std::size_t> sends, const Packer& packer);
  void hear(std::span<const std::size_t> receives, const Packer& packer);
  void make_memory();
  void take_shown(const Packer& packer, bool past_caches);
  void run_rounds(std::span<const std::size_t> sends, std::span<const std::size_t> receives,
                  const Packer& packer, const std::function<void()>& barrier);
  void move_own(std::size_t bytes, const Packer& packer, bool past_caches);
  std::byte* slot(int from, int to) const;
  int other(int distance) const { return (resources_.rank() + distance) % resources_.size(); }

  Resources& resources_;
  DirectCopies direct_;
  std::vector<News> told_;
  std::vector<News> heard_;
  std::vector<std::uint64_t> sent_;       // by rank
  std::optional<engine::Stages> memory_;  // nothing: no call has come
  std::size_t slot_bytes_ = 0;            // of a half, for each other rank
  std::uint64_t rounds_ = 0;              // over, of all calls
  std::vector<std::byte> own_;            // a part of the block to itself
};

}  // namespace weft::comm
