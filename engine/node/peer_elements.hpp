// Peer elements: copies from elements in a buffer of another rank of the node to this rank's
// memory, by the view that reaches the buffer, or where that fails by system calls or by the
// buffer's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/copying/nest.hpp"
#include "engine/node/node_control.hpp"

namespace weft::engine {

class PeerElements {
 public:
  /// Of the rank at `place`. `scratch`: memory of this rank for pieces that cannot go straight from
  /// one layout into the other.
  PeerElements(NodeControl& node, int place, const Elements& theirs,
               std::span<std::byte> scratch) noexcept
      : node_(node), place_(place), theirs_(theirs), scratch_(scratch) {}

  /// Copies all of them to `ours`, of as many bytes: in one pass, where the view reaches them.
  /// False with errno when the rank's memory cannot be read, as its process has ended.
  /// `past_caches`: as for copy() of layouts.
  bool copy_to(const Elements& ours, bool past_caches) noexcept;

  /// Calls take(from, to, packed) for all of their packed bytes, some at a time, in order; what it
  /// throws is the caller's.
  bool for_each_piece(const std::function<void(std::uint64_t from, std::uint64_t to,
                                               const std::byte* packed)>& take);

 private:
  template <class Copy>
  bool copy_in_place(const Copy& copy) noexcept;
  bool read(std::uint64_t from, std::uint64_t to) noexcept;
  bool read_by_owner(std::uint64_t from, std::uint64_t to) noexcept;

  NodeControl& node_;
  int place_;
  Elements theirs_;
  std::span<std::byte> scratch_;
};

}  // namespace weft::engine
