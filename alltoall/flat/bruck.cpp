// Bruck's index algorithm of any radix r: few messages, at the price of passing blocks on.
//
// The block from member s to member t has the position i = t - s (mod p). Written with the radix r,
// i says its route: for the digit d of weight w = r^k it is passed on by d * w. In round k a member
// sends, for each d = 1 .. r-1, one message to self + d*w with all blocks whose digit is d, and
// receives as many from self - d*w.
//
//   p = 5, r = 2     position      1    2    3    4
//   round 0: by 1    digit of 1    1    .    1    .     self -> self + 1: positions 1, 3
//   round 1: by 2    digit of 2    .    1    1    .     self -> self + 2: positions 2, 3
//   round 2: by 4    digit of 4    .    .    .    1     self -> self + 4: position 4
//
// Before the round of weight w, position i at member m holds the block from m - (i mod w) to
// m - (i mod w) + i: so every member that knows the sizes of all pairs knows those of messages.
//
// No rotation and no copy in place: a block stays where it came, and a message takes its blocks in
// the order in which they lie, which is the same on every member; so packing is a few strided
// copies. A block whose digits are done goes from where it came straight to its target.
//
// With p members and blocks of m bytes, a member:
//   rounds    ceil(log_r p); the last, of weight w > 1, follows no other message if p <= w + w / r,
//             since its blocks have not moved before: then one fewer
//   messages  for each weight w = r^k < p: min(r - 1, ceil(p / w) - 1); (r - 1) log_r p if p = r^k
//   bytes     m times the non-zero digits of 1 .. p-1; (p m / 2) lg p for r = 2 and p = 2^k
//   copied    m + at most twice the bytes sent (packed, and delivered)
//   stage 0, scratch at most twice the bytes sent, each message rounded up to 64: one buffer for
//   what is packed and one for what comes, new for each message so that messages of a round are
//   independent
// Blocks of different sizes: the same with the sizes of the blocks that pass by, which every member
// on their way must know. Of an alltoallv nobody does: its blocks travel in slots (slots.hpp,
// Exchange::slot), of which each is packed and delivered as far as it is filled.
// In place: all blocks are copied to scratch first, p m more copied and of scratch; the own block
// is not.
//
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
// Communications in Multiport Message-Passing Systems", TPDS 8(11), 1997, section 3; costs for
// r = 2: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3.
#include <algorithm>

#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/transfer.hpp"
#include "base/cast.hpp"

namespace weft::alltoall {

using plan::After;
using plan::kNoOp;
using plan::OpId;
using plan::Slice;

namespace {

class Bruck {
 public:
  Bruck(plan::Builder& builder, const Exchange& exchange, int radix)
      : builder_(builder),
        exchange_(exchange),
        radix_(std::min(radix, std::max(exchange.size(), 2))),
        message_(exchange.members.size(), kSource),
        slice_(exchange.members.size()) {
    for (int position = 1; position < exchange.size(); ++position) order_.push_back(position);
  }

  Arrived run() && {
    for (std::int64_t weight = 1; weight < exchange_.size(); weight *= radix_) round(weight);
    Arrived own = Transfers(builder_, exchange_).finish();
    arrived_.insert(arrived_.end(), own.begin(), own.end());
    return std::move(arrived_);
  }

 private:
  static constexpr int kSource = -1;

  /// All positions that still move, in the order in which their blocks lie.
  using Positions = std::vector<int>;

  void round(std::int64_t weight) {
    std::vector<Positions> by_digit(static_cast<std::size_t>(radix_));
    for (const int position : order_) by_digit[position / weight % radix_].push_back(position);
    order_ = std::move(by_digit[0]);
    for (int digit = 1; digit < radix_ && digit * weight < exchange_.size(); ++digit) {
      const int distance = static_cast<int>(digit * weight);
      send(by_digit[digit], exchange_.members[around(exchange_, exchange_.self, distance)]);
      receive(by_digit[digit], distance, weight * radix_);
    }
  }

  /// One message of the blocks of `positions`, packed unless they are one slice.
  void send(const Positions& positions, int peer) {
    std::vector<Piece> pieces;  // of one message each
    std::vector<Slice> all;
    std::uint64_t bytes = 0;
    for (const int position : positions) {
      if (pieces.empty() || pieces.back().message != message_[position]) {
        pieces.push_back({message_[position]});
      }
      add_block(position, pieces.back());
    }
    bool fills = true;
    for (const Piece& piece : pieces) {
      all.insert(all.end(), piece.slices.begin(), piece.slices.end());
      bytes += piece.bytes;
      fills = fills && piece.fills;
    }
    if (bytes == 0) return;
    all = plan::coalesce(all);
    std::vector<OpId> done;
    if (fills && all.size() == 1) {
      for (const Piece& piece : pieces) {
        done.insert(done.end(), piece.ready.begin(), piece.ready.end());
      }
      builder_.send(peer, all.front(), done);
    } else {
      const Slice packed = pack(pieces, bytes, done);
      builder_.send(peer, packed, done);
    }
  }

  /// The blocks of a message that lie in one place.
  struct Piece {
    int message;  // in which they came; kSource: they lie in the sources
    std::vector<Slice> slices = {};
    std::vector<OpId> ready = {};
    std::uint64_t bytes = 0;               // in the message
    bool fills = true;                     // the slices have as many
    std::vector<plan::Block> blocks = {};  // of sources in slots: where the slices belong in it
  };

  void add_block(int position, Piece& piece) {
    if (piece.message != kSource) {
      if (slice_[position].empty()) return;
      piece.slices.push_back(slice_[position]);
      piece.bytes += slice_[position].bytes();
      if (piece.ready.empty()) piece.ready.push_back(received_[piece.message]);
      return;
    }
    const int to = around(exchange_, exchange_.self, position);
    const std::uint64_t bytes = exchange_.bytes(exchange_.self, to);
    if (bytes == 0) return;
    const std::size_t before = piece.slices.size();
    exchange_.source(to, piece.slices);
    if (exchange_.slot > 0) {
      piece.fills = place(piece.slices, before, piece.bytes, bytes, piece.blocks) && piece.fills;
    }
    piece.bytes += bytes;
    if (exchange_.ready) exchange_.ready(to, piece.ready);
  }

  /// Appends where the slices from `first` on lie in a block that begins at `offset`, and drops
  /// those without bytes. Whether they fill it.
  bool place(std::vector<Slice>& slices, std::size_t first, std::uint64_t offset,
             std::uint64_t bytes, std::vector<plan::Block>& blocks) const {
    std::uint64_t at = offset;
    std::uint64_t filled = 0;
    std::size_t kept = first;
    for (std::size_t i = first; i < slices.size(); ++i) {
      const std::uint64_t length = slices[i].bytes();
      if (length > 0) {
        blocks.push_back({at, length});
        slices[kept++] = slices[i];
      }
      at += std::max(round_up(length, exchange_.slot), exchange_.slot);
      filled += length;
    }
    slices.resize(kept);
    return filled == bytes;
  }

  /// Each piece is packed as soon as it is there, while the others may still be on their way.
  Slice pack(std::span<const Piece> pieces, std::uint64_t bytes, std::vector<OpId>& done) {
    const Slice packed = builder_.allocate_scratch(bytes);
    std::uint64_t offset = packed.offset;
    const auto part = [&packed](std::uint64_t from, std::uint64_t length) {
      return Slice::contiguous(packed.space, packed.owner, from, length);
    };
    for (const Piece& piece : pieces) {
      if (piece.fills) {
        builder_.gather(part(offset, piece.bytes), piece.slices, piece.ready, done);
      } else {
        std::vector<Slice> targets;
        for (const plan::Block& block : piece.blocks) {
          targets.push_back(part(offset + block.offset, block.bytes));
        }
        builder_.copy(targets, piece.slices, piece.ready, done);
      }
      offset += piece.bytes;
    }
    return packed;
  }

  static std::uint64_t bytes_of(std::span<const Slice> slices) {
    std::uint64_t bytes = 0;
    for (const Slice& slice : slices) bytes += slice.bytes();
    return bytes;
  }

  int origin_of(int position, std::int64_t passed) const {
    return around(exchange_, exchange_.self, -static_cast<int>(position % passed));
  }

  /// The message of `positions` from self - distance; afterwards their digits below `passed` are
  /// done, and those that have no other digit are delivered.
  void receive(const Positions& positions, int distance, std::int64_t passed) {
    const int number = static_cast<int>(received_.size());
    const int peer = exchange_.members[around(exchange_, exchange_.self, -distance)];
    std::vector<std::uint64_t> sizes;
    std::uint64_t bytes = 0;
    for (const int position : positions) {
      const int origin = origin_of(position, passed);
      sizes.push_back(exchange_.bytes(origin, around(exchange_, origin, position)));
      bytes += sizes.back();
    }
    received_.push_back(kNoOp);
    if (bytes > 0 && receive_in_place(positions, sizes, peer, passed)) return;
    const Slice buffer = builder_.allocate_scratch(bytes);
    const OpId received = builder_.recv(peer, buffer);
    received_[number] = received;
    std::uint64_t offset = buffer.offset;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const int position = positions[i];
      const Slice block = Slice::contiguous(buffer.space, buffer.owner, offset, sizes[i]);
      offset += sizes[i];
      if (position >= passed) {
        message_[position] = number;
        slice_[position] = block;
        order_.push_back(position);
      } else if (sizes[i] > 0) {
        const int origin = origin_of(position, passed);
        std::vector<Slice> targets;
        std::vector<OpId> vacated;
        exchange_.target(origin, targets);
        if (exchange_.vacated) exchange_.vacated(origin, vacated);
        deliver(block, targets, After(received, vacated));
      }
    }
  }

  void deliver(const Slice& block, std::vector<Slice>& targets, After after) {
    std::vector<plan::Block> filled;
    if (exchange_.slot == 0 || place(targets, 0, block.offset, block.bytes(), filled)) {
      return builder_.scatter(targets, block, after, arrived_);
    }
    std::vector<Slice> sources;
    for (const plan::Block& one : filled) {
      sources.push_back(Slice::contiguous(block.space, block.owner, one.offset, one.bytes));
    }
    builder_.copy(targets, sources, after, arrived_);
  }

  /// True when all blocks of the message end here and their targets are one slice: then it needs
  /// no buffer.
  bool receive_in_place(const Positions& positions, std::span<const std::uint64_t> sizes, int peer,
                        std::int64_t passed) {
    if (std::ranges::any_of(positions, [&](int position) { return position >= passed; })) {
      return false;
    }
    std::vector<Slice> targets;
    std::vector<OpId> vacated;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (sizes[i] == 0) continue;
      bytes += sizes[i];
      exchange_.target(origin_of(positions[i], passed), targets);
      if (exchange_.vacated) exchange_.vacated(origin_of(positions[i], passed), vacated);
    }
    if (bytes_of(targets) != bytes) return false;
    targets = plan::coalesce(targets);
    if (targets.size() != 1) return false;
    arrived_.push_back(builder_.recv(peer, targets.front(), vacated));
    return true;
  }

  plan::Builder& builder_;
  const Exchange& exchange_;
  const int radix_;
  Positions order_;
  std::vector<int> message_;    // by position: the message in which its block came, or kSource
  std::vector<Slice> slice_;    // by position: where it lies, if it came in a message
  std::vector<OpId> received_;  // by message
  Arrived arrived_;
};

}  // namespace

Arrived bruck(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters) {
  return Bruck(builder, exchange, parameters.radix).run();
}

}  // namespace weft::alltoall
