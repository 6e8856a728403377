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

/// Pieces of a rank's blocks, packed or copied.
class PieceCopies {
 public:
  explicit PieceCopies(const Layouts& layouts)
      : layouts_(layouts), element_(new std::byte[Blocks::kLargestElement]) {}

  void take(const Blocks& blocks, int block, std::size_t from, std::size_t to,
            std::byte* into) const {
    blocks.take_part(layouts_, block, from, to, into, element_.get());
  }
  void put(const Blocks& blocks, int block, std::size_t from, std::size_t to,
           const std::byte* piece) const {
    blocks.put_part(layouts_, block, from, to, piece, element_.get());
  }

 private:
  const Layouts& layouts_;
  std::unique_ptr<std::byte[]> element_;  // that lies across an end of a piece
};

}  // namespace weft::mpi
