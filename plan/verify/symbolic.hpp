// Symbolic memory: holds the origins of bytes in place of the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/slice.hpp"
#include "plan/verify/expressions.hpp"

namespace weft::plan {

/// `bytes` bytes that stem from those at `origin` on of the inputs that an expression combines.
struct Piece {
  std::uint64_t bytes = 0;
  std::uint64_t origin = 0;
  ExpressionId expression = kUndefined;

  /// The same without its first `skipped` bytes, `length` long.
  Piece part(std::uint64_t skipped, std::uint64_t length) const {
    return {length, expression == kUndefined ? 0 : origin + skipped, expression};
  }
  bool is_continued_by(const Piece& next) const {
    return expression == next.expression &&
           (expression == kUndefined || origin + bytes == next.origin);
  }
};

/// Appends to pieces[first..], joining what continues the last of them.
void append(std::vector<Piece>& pieces, std::size_t first, const Piece& next);

/// One space of one rank: the pieces that were written, by address; nothing between them.
class SymbolicMemory {
 public:
  struct Segment {
    std::uint64_t begin;
    Piece piece;
    std::uint64_t end() const { return begin + piece.bytes; }
  };

  const std::vector<Segment>& segments() const { return segments_; }

  /// Appends the pieces in the slice's bytes, in the slice's order.
  void read(const Slice& slice, std::vector<Piece>& pieces) const;
  /// `pieces` must be as long as the slice.
  void write(const Slice& slice, std::span<const Piece> pieces);

 private:
  void add(std::uint64_t begin, const Piece& piece);
  void keep(const Segment& old, std::uint64_t from, std::uint64_t to);

  std::vector<Segment> segments_;
  std::vector<Segment> merged_;  // write()'s own, kept for its memory
};

}  // namespace weft::plan
