// Memory that holds where its bytes came from in place of bytes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/slice.hpp"

namespace weft::plan {

/// Which ranks' inputs bytes were reduced from, in order; a number for each such list.
using SequenceId = std::uint32_t;
inline constexpr SequenceId kUndefined = UINT32_MAX;

/// Gives equal lists equal numbers. The list of rank r alone is number r.
class Sequences {
 public:
  explicit Sequences(int ranks);

  SequenceId intern(const std::vector<int>& ranks);
  /// The number of a's list followed by b's. Operations that commute would sort it here.
  SequenceId concatenate(SequenceId a, SequenceId b);
  const std::vector<int>& ranks(SequenceId id) const { return lists_[id]; }

 private:
  std::vector<std::vector<int>> lists_;
  std::map<std::vector<int>, SequenceId> ids_;
  std::map<std::pair<SequenceId, SequenceId>, SequenceId> concatenations_;
};

/// `bytes` bytes that stem from those at `origin` on of the inputs of a sequence of ranks.
struct Piece {
  std::uint64_t bytes = 0;
  std::uint64_t origin = 0;
  SequenceId sequence = kUndefined;

  /// The same without its first `skipped` bytes, `length` long.
  Piece part(std::uint64_t skipped, std::uint64_t length) const {
    return {length, sequence == kUndefined ? 0 : origin + skipped, sequence};
  }
  bool is_continued_by(const Piece& next) const {
    return sequence == next.sequence && (sequence == kUndefined || origin + bytes == next.origin);
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

  /// Appends what the slice's bytes hold, in the slice's order.
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
