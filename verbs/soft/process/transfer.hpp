// Transfer of bytes between this process and a peer, by the best path that works.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "verbs/soft/process/peer.hpp"
#include "verbs/soft/segment/control_layout.hpp"

namespace weft::soft {

/// A piece of a peer's memory; `direct` is where it lies in this process, or nullptr.
struct RemotePiece {
  std::uint64_t address;
  std::size_t length;
  std::byte* direct;
};

/// Local memory in pieces, and the total of their lengths.
struct LocalPieces {
  std::array<iovec, kMaxSge + 1> piece;
  std::size_t count = 0;
  std::size_t bytes = 0;

  void add(std::uint64_t address, std::size_t length) noexcept {
    piece[count++] = {reinterpret_cast<void*>(address), length};
    bytes += length;
  }
};

/// A piece of the peer's region `index`: with its address here, as the chosen path allows.
RemotePiece remote_piece(Peer& peer, std::uint32_t index, std::uint64_t offset,
                         std::size_t length) noexcept;

enum class Placement { any, last_word_last };

/// Writes all of `local` over the remote pieces in turn, which are at least as long. With
/// last_word_last the last aligned 8 bytes (or what there is of them) become visible after all
/// others. 0 or errno.
int put(Peer& peer, const LocalPieces& local, std::span<const RemotePiece> remote,
        Placement placement) noexcept;

/// Fills `local` from one remote piece of the same length. 0 or errno.
int get(Peer& peer, const LocalPieces& local, const RemotePiece& remote) noexcept;

enum class AtomicOp { fetch_add, compare_swap };

/// Applies the operation to 8 aligned bytes; `seen` is what was there. 0 or errno.
int apply_atomic(Peer& peer, const RemotePiece& remote, AtomicOp op, std::uint64_t compare_add,
                 std::uint64_t swap, std::uint64_t& seen) noexcept;

}  // namespace weft::soft
