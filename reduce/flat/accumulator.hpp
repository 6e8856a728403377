// The vector that a member combines with those of others.
#pragma once

#include <vector>

#include "algorithm/ledger.hpp"
#include "reduce/flat/cut.hpp"

namespace weft::reduce {

/// One's own vector, read where it lies (`source`) until something is combined with it, and kept in
/// `memory` from then on: part by part, so that nothing is ever copied just to have it there. The
/// first message for a part is received into memory and reduced with the source; later ones come
/// into scratch as large as the message. Blocks are ranges of the vector.
class Accumulator {
 public:
  /// `source` empty: nothing is there so far, and the first that comes stays as it is. `memory` is
  /// as long as the vector, and apart from the source; empty: scratch, once it is needed.
  Accumulator(Ledger& ledger, std::uint64_t bytes, const plan::Slice& source,
              const plan::Slice& memory);

  std::uint64_t bytes() const { return bytes_; }
  Block whole() const { return {0, bytes_}; }

  void send(int peer, const Block& block);
  /// Receives from the peer, whose data stands on `side` of this.
  void combine(int peer, const Block& block, Operand side);
  /// Receives what replaces this.
  void receive(int peer, const Block& block);
  /// Where the block lies from now on: in memory.
  plan::Slice settle(const Block& block);

 private:
  struct Piece {
    Block block;
    bool kept;  // in memory
  };

  std::vector<Piece> pieces(const Block& block) const;
  bool is_kept(const Block& block) const;
  bool is_source(const Block& block) const;
  void keep(const Block& block);
  plan::Slice memory(const Block& block);
  plan::Slice incoming(std::uint64_t bytes);

  Ledger& ledger_;
  std::uint64_t bytes_;
  plan::Slice source_;
  plan::Slice memory_;
  std::vector<Block> kept_;            // ascending, none touches the next
  std::vector<plan::Slice> incoming_;  // used in turn, so that one arrives while one is reduced
  std::size_t next_ = 0;
};

}  // namespace weft::reduce
