#include "reduce/flat/accumulator.hpp"

#include <algorithm>

namespace weft::reduce {

using plan::Slice;

namespace {

constexpr std::size_t kIncoming = 2;

std::uint64_t end(const Block& block) {
  return block.offset + block.bytes;
}

Operand other(Operand side) {
  return side == Operand::left ? Operand::right : Operand::left;
}

}  // namespace

Accumulator::Accumulator(Ledger& ledger, std::uint64_t bytes, const Slice& source,
                         const Slice& memory)
    : ledger_(ledger), bytes_(bytes), source_(source), memory_(memory) {}

void Accumulator::send(int peer, const Block& block) {
  if (is_source(block)) return ledger_.send(peer, part_of(source_, block));
  ledger_.send(peer, settle(block));
}

void Accumulator::combine(int peer, const Block& block, Operand side) {
  if (block.bytes == 0) return;
  if (is_source(block)) {
    const Slice here = memory(block);
    ledger_.recv(peer, here);
    if (!source_.empty()) ledger_.reduce(here, part_of(source_, block), side);
    return keep(block);
  }
  const Slice in = incoming(block.bytes);
  ledger_.recv(peer, in);
  ledger_.reduce(settle(block), in, other(side));
}

void Accumulator::receive(int peer, const Block& block) {
  if (block.bytes == 0) return;
  ledger_.recv(peer, memory(block));
  keep(block);
}

Slice Accumulator::settle(const Block& block) {
  if (block.bytes == 0) return Slice::contiguous(plan::Space::scratch, 0, 0, 0);
  const Slice here = memory(block);
  for (const Piece& piece : pieces(block)) {
    if (!piece.kept) ledger_.copy(memory(piece.block), part_of(source_, piece.block));
  }
  keep(block);
  return here;
}

/// The block in parts that are kept and parts that are not, by turns.
std::vector<Accumulator::Piece> Accumulator::pieces(const Block& block) const {
  std::vector<Piece> list;
  std::uint64_t at = block.offset;
  const auto add = [&](std::uint64_t to, bool kept) {
    to = std::min(to, end(block));
    if (at >= to) return;
    list.push_back({{at, to - at}, kept});
    at = to;
  };
  for (const Block& kept : kept_) {
    if (end(kept) <= at) continue;
    add(kept.offset, false);
    add(end(kept), true);
  }
  add(end(block), false);
  return list;
}

bool Accumulator::is_kept(const Block& block) const {
  return std::ranges::all_of(pieces(block), &Piece::kept);
}

bool Accumulator::is_source(const Block& block) const {
  return std::ranges::none_of(pieces(block), &Piece::kept);
}

void Accumulator::keep(const Block& block) {
  if (is_kept(block)) return;
  Block joined = block;
  std::erase_if(kept_, [&](const Block& kept) {
    if (end(kept) < joined.offset || end(joined) < kept.offset) return false;
    const std::uint64_t begin = std::min(kept.offset, joined.offset);
    joined = {begin, std::max(end(kept), end(joined)) - begin};
    return true;
  });
  kept_.insert(std::ranges::upper_bound(kept_, joined.offset, {}, &Block::offset), joined);
}

Slice Accumulator::memory(const Block& block) {
  if (memory_.empty()) memory_ = ledger_.builder().allocate_scratch(bytes_);
  return part_of(memory_, block);
}

Slice Accumulator::incoming(std::uint64_t bytes) {
  if (incoming_.size() < kIncoming) {
    incoming_.push_back(ledger_.builder().allocate_scratch(bytes));
    return incoming_.back();
  }
  Slice& slice = incoming_[next_++ % kIncoming];
  if (slice.bytes() < bytes) slice = ledger_.builder().allocate_scratch(bytes);
  return part_of(slice, {0, bytes});
}

}  // namespace weft::reduce
