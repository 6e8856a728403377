#include "alltoall/flat/slots.hpp"

#include <algorithm>
#include <numeric>

#include "alltoall/flat/straight.hpp"

namespace weft::alltoall {

using hierarchy::LocalBlocks;
using plan::OpId;
using plan::Slice;

namespace {

constexpr algorithm::FlatForm kAllAtOnce = {
    .collective = plan::Collective::alltoall,
    .reads = {},
    .emit = irecv_isend,
    .swap = swap_irecv_isend,
};

class Slots {
 public:
  Slots(plan::Builder& builder, const LocalBlocks& blocks, std::uint64_t slot)
      : builder_(builder), blocks_(blocks), slot_(slot), self_(builder.rank()) {}

  /// The larger blocks.
  Arrived exchange_straight() {
    if (blocks_.largest(self_) <= slot_) return {};
    return straight(builder_, blocks_, kAllAtOnce, {}, [this](int peer, std::uint64_t bytes) {
      return peer != self_ && bytes > slot_;
    });
  }

  Exchange exchange() {
    Exchange exchange;
    exchange.members.resize(static_cast<std::size_t>(blocks_.ranks()));
    std::iota(exchange.members.begin(), exchange.members.end(), 0);
    exchange.self = self_;
    exchange.bytes = [this](int from, int to) {
      if (from != to) return slot_;
      return blocks_.in_place() ? 0 : blocks_.sent_bytes(self_, self_);
    };
    exchange.slot = slot_;
    exchange.source = [this](int to, std::vector<Slice>& slices) {
      const Slice block = blocks_.source(self_, to);
      slices.push_back(goes(to, block) ? block : Slice());
    };
    exchange.target = [this](int from, std::vector<Slice>& slices) {
      const Slice block = blocks_.target(self_, from);
      slices.push_back(goes(from, block) ? block : Slice());
    };
    if (blocks_.in_place()) set_aside(exchange);
    return exchange;
  }

 private:
  bool goes(int peer, const Slice& block) const {
    return !block.empty() && (peer == self_ || block.bytes() <= slot_);
  }

  /// In place: what goes in slots is copied to scratch before any of it is received.
  void set_aside(Exchange& exchange) {
    std::vector<Slice> all;
    std::uint64_t bytes = 0;
    copies_.resize(exchange.members.size());
    for (int to = 0; to < exchange.size(); ++to) {
      const Slice block = blocks_.source(self_, to);
      if (to == self_ || !goes(to, block)) continue;
      all.push_back(block);
      copies_[static_cast<std::size_t>(to)] = {bytes, block.bytes()};
      bytes += block.bytes();
    }
    copy_ = builder_.allocate_scratch(bytes);
    builder_.gather(copy_, all, {}, copied_);
    exchange.source = [this](int to, std::vector<Slice>& slices) {
      const plan::Block part = copies_[static_cast<std::size_t>(to)];
      slices.push_back(
          Slice::contiguous(copy_.space, copy_.owner, copy_.offset + part.offset, part.bytes));
    };
    exchange.ready = exchange.vacated = [this](int, std::vector<OpId>& ops) {
      ops.insert(ops.end(), copied_.begin(), copied_.end());
    };
  }

  plan::Builder& builder_;
  const LocalBlocks& blocks_;
  const std::uint64_t slot_;
  const int self_;
  // In place.
  Slice copy_;
  std::vector<plan::Block> copies_;  // by rank: where its block lies in the copy
  std::vector<OpId> copied_;
};

}  // namespace

Arrived exchange_in_slots(plan::Builder& builder, const LocalBlocks& blocks,
                          const algorithm::FlatForm& form, const Parameters& parameters) {
  Slots slots(builder, blocks, parameters.slot);
  Arrived arrived = slots.exchange_straight();
  const Exchange exchange = slots.exchange();
  const Arrived in_slots =
      std::get<algorithm::EmitExchange>(form.emit)(builder, exchange, parameters);
  arrived.insert(arrived.end(), in_slots.begin(), in_slots.end());
  return arrived;
}

std::uint64_t slots_scratch_bytes(int ranks, const Parameters& parameters) {
  const auto p = static_cast<std::uint64_t>(ranks);
  const auto radix =
      static_cast<std::uint64_t>(std::clamp(parameters.radix, 2, std::max(ranks, 2)));
  std::uint64_t passed = 0;  // slots in all messages of a rank
  std::uint64_t messages = 0;
  for (std::uint64_t weight = 1; weight < p; weight *= radix) {
    const std::uint64_t cycle = weight * radix;
    passed += p - (p / cycle * weight + std::min(p % cycle, weight));
    messages += std::min(radix, (p + weight - 1) / weight) - 1;
  }
  const std::uint64_t aside = p * parameters.slot + plan::kSliceAlignment;
  return 2 * (passed * parameters.slot + messages * plan::kSliceAlignment) + aside;
}

}  // namespace weft::alltoall
