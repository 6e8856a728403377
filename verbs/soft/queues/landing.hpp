// The memory that a receive offers.
#pragma once

#include <array>
#include <span>

#include "verbs/soft/process/limits.hpp"
#include "verbs/soft/process/transfer.hpp"

namespace weft::soft {

/// The pieces of a receive's scatter list that a message fills.
struct Landing {
  std::array<RemotePiece, kMaxSge> piece;
  std::size_t count = 0;
  std::span<const RemotePiece> pieces() const noexcept { return {piece.data(), count}; }
};

}  // namespace weft::soft
