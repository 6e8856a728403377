// Direct copies: receivers of a node copy blocks from where senders have them to where they want
// them, whatever the layouts of the two, in one pass.
//
// A sender shows a block: its address, and the place of its layout on the sender's *layout board*,
// memory that its neighbours map. A layout is written there once and stays; a call like an earlier
// one tells nothing new. Which blocks are shown is the sender's decision alone, by what all know of
// the views: what is not shown travels another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/setup/resources.hpp"
#include "engine/copying/nest.hpp"
#include "engine/node/shared_memory.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// What a sender tells of a block. A plain value.
struct Shown {
  std::uint64_t buffer = 0;  // engine::Elements, in the sender's process
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
  std::uint64_t count = 0;
  std::uint32_t first_nest = 0;  // on the sender's layout board
  std::uint32_t nests = 0;       // 0: the block is not shown
};

/// For one communicator, on one node.
class DirectCopies {
 public:
  explicit DirectCopies(Resources& resources) : resources_(resources) {}

  /// Collective, once, before anything else.
  void make_boards();

  /// By the sender. Not shown where receivers would not reach the block, or slower than in other
  /// ways, or the layout board is full. It must stay as it is until all receivers have taken
  /// theirs.
  Shown show(const engine::Elements& block);

  /// By the receiver: copies what rank `from` has shown to `block`, or where this is null by
  /// packer.unpack(), in parts. `past_caches`: as for engine::copy(). Error when that rank's memory
  /// cannot be read.
  void take(int from, const Shown& shown, const engine::Elements* block, const Packer& packer,
            bool past_caches);

  std::uint64_t memory_bytes() const noexcept {
    return board_.size() * sizeof(engine::Nest) + scratch_.capacity();
  }

 private:
  bool is_reached(const engine::Elements& block) const;
  bool write(std::span<const engine::Nest> nests, Shown& shown);

  Resources& resources_;
  std::vector<engine::SharedMemory> boards_;  // by place
  std::span<engine::Nest> board_;             // this rank's
  std::size_t written_ = 0;
  std::unordered_multimap<std::uint64_t, Shown> places_;  // by digest; first_nest and nests only
  std::vector<std::byte> scratch_;                        // empty: nothing has been taken
};

}  // namespace weft::comm
