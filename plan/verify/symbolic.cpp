#include "plan/verify/symbolic.hpp"

#include <algorithm>

namespace weft::plan {

void append(std::vector<Piece>& pieces, std::size_t first, const Piece& next) {
  if (pieces.size() > first && pieces.back().is_continued_by(next)) {
    pieces.back().bytes += next.bytes;
  } else {
    pieces.push_back(next);
  }
}

void SymbolicMemory::read(const Slice& slice, std::vector<Piece>& pieces) const {
  const std::size_t first = pieces.size();
  auto segment = segments_.begin();
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    std::uint64_t at = slice.offset + i * slice.stride;
    const std::uint64_t end = at + slice.block_bytes;
    if (segment != segments_.end() && segment->end() <= at) {
      segment = std::ranges::upper_bound(segment, segments_.end(), at, {}, &Segment::end);
    }
    while (at < end) {
      std::uint64_t length = end - at;
      if (segment == segments_.end() || segment->begin >= end) {
        append(pieces, first, {length, 0, kUndefined});
      } else if (segment->begin > at) {
        length = segment->begin - at;
        append(pieces, first, {length, 0, kUndefined});
      } else {
        length = std::min(length, segment->end() - at);
        append(pieces, first, segment->piece.part(at - segment->begin, length));
        if (segment->end() == at + length) ++segment;
      }
      at += length;
    }
  }
}

/// Adds to the end of merged_, joining neighbours.
void SymbolicMemory::add(std::uint64_t begin, const Piece& piece) {
  if (!merged_.empty() && merged_.back().end() == begin &&
      merged_.back().piece.is_continued_by(piece)) {
    merged_.back().piece.bytes += piece.bytes;
  } else {
    merged_.push_back({begin, piece});
  }
}

/// Adds what `old` has in [from, to).
void SymbolicMemory::keep(const Segment& old, std::uint64_t from, std::uint64_t to) {
  from = std::max(from, old.begin);
  to = std::min(to, old.end());
  if (from < to) add(from, old.piece.part(from - old.begin, to - from));
}

void SymbolicMemory::write(const Slice& slice, std::span<const Piece> pieces) {
  const auto first = std::ranges::upper_bound(segments_, slice.offset, {}, &Segment::end);
  const auto last =
      std::ranges::lower_bound(first, segments_.end(), slice.end(), {}, &Segment::begin);
  merged_.clear();
  std::uint64_t free_from = 0;  // old bytes from here on are not overwritten so far
  auto old = first;
  auto piece = pieces.begin();
  std::uint64_t used = 0;  // bytes of *piece that are written
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    std::uint64_t at = slice.offset + i * slice.stride;
    const std::uint64_t end = at + slice.block_bytes;
    while (old != last && old->begin < at) {
      keep(*old, free_from, at);
      if (old->end() > end) break;
      ++old;
    }
    while (old != last && old->end() <= end) ++old;
    while (at < end) {
      const std::uint64_t length = std::min(end - at, piece->bytes - used);
      add(at, piece->part(used, length));
      at += length;
      used += length;
      if (used == piece->bytes) ++piece, used = 0;
    }
    free_from = end;
  }
  for (; old != last; ++old) keep(*old, free_from, UINT64_MAX);
  const auto common = std::min(last - first, static_cast<std::ptrdiff_t>(merged_.size()));
  const auto place = segments_.begin() + (first - segments_.begin());
  std::copy_n(merged_.begin(), common, place);
  if (common < last - first) {
    segments_.erase(place + common, place + (last - first));
  } else {
    segments_.insert(place + common, merged_.begin() + common, merged_.end());
  }
}

}  // namespace weft::plan
