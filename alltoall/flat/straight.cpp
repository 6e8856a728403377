#include "alltoall/flat/straight.hpp"

#include <numeric>

namespace weft::alltoall {

using hierarchy::LocalBlocks;
using plan::OpId;
using plan::Slice;

namespace {

Exchange among_all(const LocalBlocks& blocks, int self, const TakesPart& takes_part) {
  Exchange exchange;
  exchange.members.resize(static_cast<std::size_t>(blocks.ranks()));
  std::iota(exchange.members.begin(), exchange.members.end(), 0);
  exchange.self = self;
  if (const auto constant = blocks.constant_bytes()) {
    exchange.bytes = [bytes = *constant, self, &takes_part, &blocks](int from,
                                                                     int to) -> std::uint64_t {
      if (from == to) return blocks.in_place() || !takes_part(self, bytes) ? 0 : bytes;
      if (from != self && to != self) return bytes;
      return takes_part(from == self ? to : from, bytes) ? bytes : 0;
    };
  } else {
    exchange.bytes = [&blocks, self, &takes_part](int from, int to) -> std::uint64_t {
      if (from == to && blocks.in_place()) return 0;
      const int peer = from == self ? to : from;
      const std::uint64_t bytes =
          from == self ? blocks.sent_bytes(self, to) : blocks.received_bytes(self, from);
      return takes_part(peer, bytes) ? bytes : 0;
    };
  }
  exchange.source = [&blocks, self](int to, std::vector<Slice>& slices) {
    slices.push_back(blocks.source(self, to));
  };
  exchange.target = [&blocks, self](int from, std::vector<Slice>& slices) {
    slices.push_back(blocks.target(self, from));
  };
  return exchange;
}

/// In place by an algorithm that passes blocks on: they are all copied to scratch first.
Arrived from_a_copy(plan::Builder& builder, const LocalBlocks& blocks,
                    const algorithm::FlatForm& form, const Parameters& parameters,
                    Exchange exchange) {
  const int self = builder.rank();
  const std::uint64_t size = *blocks.constant_bytes();
  const Slice copy = builder.allocate_scratch(size * static_cast<std::uint64_t>(blocks.ranks()));
  std::vector<Slice> all;
  for (int rank = 0; rank < blocks.ranks(); ++rank) all.push_back(blocks.source(self, rank));
  std::vector<OpId> copied;
  builder.gather(copy, all, {}, copied);
  exchange.source = [&](int to, std::vector<Slice>& slices) {
    slices.push_back(Slice::contiguous(copy.space, copy.owner,
                                       copy.offset + static_cast<std::uint64_t>(to) * size, size));
  };
  exchange.ready = exchange.vacated = [&](int, std::vector<OpId>& ops) {
    ops.insert(ops.end(), copied.begin(), copied.end());
  };
  return std::get<algorithm::EmitExchange>(form.emit)(builder, exchange, parameters);
}

}  // namespace

Arrived straight(plan::Builder& builder, const LocalBlocks& blocks, const algorithm::FlatForm& form,
                 const Parameters& parameters, const TakesPart& takes_part) {
  const int self = builder.rank();
  const Exchange exchange = among_all(blocks, self, takes_part);
  if (!blocks.in_place()) {
    return std::get<algorithm::EmitExchange>(form.emit)(builder, exchange, parameters);
  }
  if (form.forwards) return from_a_copy(builder, blocks, form, parameters, exchange);
  const auto block = [&](int peer) {
    const Slice slice = blocks.source(self, peer);
    return takes_part(peer, slice.bytes()) ? slice : Slice{};
  };
  form.swap(builder, blocks.ranks(), block, parameters);
  return {};
}

}  // namespace weft::alltoall
