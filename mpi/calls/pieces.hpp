// Pieces: long blocks that some rank would have to pack are packed and sent piece by piece, so that
// no rank makes a copy of all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"
#include "mpi/calls/typed_blocks.hpp"

namespace weft::mpi {

/// The bytes of all blocks together that are packed at once.
inline constexpr std::size_t kPiece = 4 << 20;

/// Calls body(number) for so many pieces. What could not be set up for a later piece is an error of
/// the call, as inputs may be results by then and the host cannot serve it any more; on all ranks
/// alike.
template <class Body>
void run_pieces(std::size_t pieces, Body body) {
  for (std::size_t number = 0; number < pieces; ++number) {
    try {
      body(number);
    } catch (const SetupError& error) {
      if (number > 0) throw CallError(error.what());
      throw;
    }
  }
}

/// Calls body(from, to) for the pieces of `bytes`. See run_pieces().
template <class Body>
void for_each_piece(std::size_t bytes, std::size_t piece, Body body) {
  run_pieces(ceil_div(bytes, piece), [&](std::size_t number) {
    body(number * piece, std::min((number + 1) * piece, bytes));
  });
}

/// The bytes of each block that go at once; nothing where blocks go whole. `block_bytes` and
/// `blocks` are the same on all ranks; `used` are the arguments of this one. Datatypes are each
/// rank's own affair, so where there are many bytes ranks ask one another: a small collective.
std::optional<std::size_t> piece_of(const Context& context, std::size_t block_bytes, int blocks,
                                    std::initializer_list<const Blocks*> used);

/// The same for blocks of any sizes, all of which all ranks know: how many pieces each of them is
/// cut into, as piece_of_block() does.
std::optional<std::size_t> number_of_pieces(const Context& context, std::size_t total_bytes,
                                            std::initializer_list<const Blocks*> used);

/// Bytes, or elements, `from` to `to` of a block.
struct Piece {
  std::size_t from = 0, to = 0;
  std::size_t length() const { return to - from; }
};
/// Piece `number` of a block of that length that is cut into `pieces`. The last ones may be empty.
inline Piece piece_of_block(std::size_t length, std::size_t pieces, std::size_t number) {
  const std::size_t each = ceil_div(length, pieces);
  return {std::min(number * each, length), std::min((number + 1) * each, length)};
}

/// Whether the blocks of an alltoall go as alltoallw() moves them, whatever their layouts: some
/// rank has to pack, and there are enough bytes for the question, which is the same. None does
/// where one receives into what it sends. Of calls of a few MiB, programs whose ranks do not pack
/// are seldom asked: a rank that does then packs its blocks whole for a while.
bool go_in_parts(const Context& context, std::size_t block_bytes, const Blocks& send,
                 const Blocks& receive);
/// The same for an alltoallv or alltoallw, of which each rank knows its own bytes only: that there
/// are enough of them is a part of the answer. So are long blocks for which some rank's neighbours
/// would have to ask the kernel: packed in parts they take less time. Inside a node they are asked
/// at each call while some rank has more than a few MiB. In place `send` is `receive`. Between
/// nodes as few bytes as go at once there are packed whole.
bool go_in_parts(const Context& context, const Blocks& send, const Blocks& receive);
bool go_in_parts(const Context& context, const TypedBlocks& send, const TypedBlocks& receive);

/// Pieces of a rank's blocks, packed or copied.
class PieceCopies {
 public:
  explicit PieceCopies(const Layouts& layouts) : layouts_(layouts) {}

  void take(const Blocks& blocks, int block, std::size_t from, std::size_t to,
            std::byte* into) const {
    if (from < to) blocks.take_part(layouts_, block, from, to, into, element());
  }
  void put(const Blocks& blocks, int block, std::size_t from, std::size_t to,
           const std::byte* piece) const {
    if (from < to) blocks.put_part(layouts_, block, from, to, piece, element());
  }

 private:
  /// Memory for an element that lies across an end of a piece, where the host packs.
  std::byte* element() const {
    if (element_ == nullptr) element_.reset(new std::byte[Blocks::kLargestElement]);
    return element_.get();
  }

  const Layouts& layouts_;
  mutable std::unique_ptr<std::byte[]> element_;
};

}  // namespace weft::mpi
