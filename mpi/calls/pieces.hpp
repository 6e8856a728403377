// Pieces: long blocks that some rank would have to pack are packed and sent piece by piece, so that
// no rank makes a copy of all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>

#include "base/error.hpp"
#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"

namespace weft::mpi {

/// Calls body(from, to) for the pieces of `bytes`. What could not be set up for a later piece is an
/// error of the call, as inputs may be results by then and the host cannot serve it any more; on
/// all ranks alike.
template <class Body>
void for_each_piece(std::size_t bytes, std::size_t piece, Body body) {
  for (std::size_t from = 0; from < bytes; from += piece) {
    try {
      body(from, std::min(from + piece, bytes));
    } catch (const SetupError& error) {
      if (from > 0) throw CallError(error.what());
      throw;
    }
  }
}

/// The bytes of each block that go at once; nothing where blocks go whole. `block_bytes` and
/// `blocks` are the same on all ranks; `used` are the arguments of this one. Datatypes are each
/// rank's own affair, so where there are many bytes ranks ask one another: a small collective.
std::optional<std::size_t> piece_of(const Context& context, std::size_t block_bytes, int blocks,
                                    std::initializer_list<const Blocks*> used);

/// Whether the blocks of an alltoall go as alltoallw() moves them, whatever their layouts: some
/// rank has to pack, and there are enough bytes for the question, which is the same. None does
/// where one receives into what it sends. Programs whose ranks do not pack are seldom asked: a rank
/// that does then packs its blocks whole for a while.
bool go_in_parts(const Context& context, std::size_t block_bytes, const Blocks& send,
                 const Blocks& receive);

/// Pieces of a rank's blocks, packed or copied.
class PieceCopies {
 public:
  explicit PieceCopies(const Layouts& layouts) : layouts_(layouts) {}

  void take(const Blocks& blocks, int block, std::size_t from, std::size_t to,
            std::byte* into) const {
    blocks.take_part(layouts_, block, from, to, into, element());
  }
  void put(const Blocks& blocks, int block, std::size_t from, std::size_t to,
           const std::byte* piece) const {
    blocks.put_part(layouts_, block, from, to, piece, element());
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
