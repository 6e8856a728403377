#include "alltoall/transfer.hpp"

namespace weft::alltoall {

using plan::After;
using plan::Builder;
using plan::kNoOp;
using plan::OpId;
using plan::Slice;

namespace {

std::vector<Slice> fewest(std::vector<Slice> slices) {
  return slices.size() == 1 ? std::move(slices) : plan::coalesce(slices);
}

std::vector<OpId> joined(std::vector<OpId> ids, After more) {
  ids.insert(ids.end(), more.ids().begin(), more.ids().end());
  return ids;
}

}  // namespace

OpId send_block(Builder& builder, const Exchange& exchange, int to, After after) {
  const std::uint64_t bytes = exchange.bytes(exchange.self, to);
  if (bytes == 0) return kNoOp;
  const std::vector<Slice> slices = fewest(exchange.source(to));
  const int peer = exchange.members[to];
  if (slices.size() == 1) {
    return builder.send(peer, slices.front(), joined(exchange.ready_for(to), after));
  }
  const Slice packed = builder.allocate_scratch(bytes);
  std::vector<OpId> copies;
  builder.gather(packed, slices, exchange.ready_for(to), copies);
  return builder.send(peer, packed, joined(std::move(copies), after));
}

OpId receive_block(Builder& builder, const Exchange& exchange, int from, std::vector<OpId>& arrived,
                   After after) {
  const std::uint64_t bytes = exchange.bytes(from, exchange.self);
  if (bytes == 0) return kNoOp;
  const std::vector<Slice> slices = fewest(exchange.target(from));
  const int peer = exchange.members[from];
  if (slices.size() == 1) {
    arrived.push_back(builder.recv(peer, slices.front(), after));
    return arrived.back();
  }
  const Slice packed = builder.allocate_scratch(bytes);
  const OpId received = builder.recv(peer, packed, after);
  builder.scatter(slices, packed, received, arrived);
  return received;
}

void copy_own_block(Builder& builder, const Exchange& exchange, Arrived& arrived) {
  const int self = exchange.self;
  if (exchange.bytes(self, self) == 0) return;
  builder.copy(exchange.target(self), exchange.source(self), exchange.ready_for(self),
               arrived[self]);
}

void Chain::step(int to, int from) {
  const OpId received = receive_block(builder_, exchange_, from, arrived_[from], previous_);
  const OpId sent = send_block(builder_, exchange_, to, previous_);
  if (received != kNoOp || sent != kNoOp) previous_ = {received, sent};
}

Arrived Chain::finish() && {
  copy_own_block(builder_, exchange_, arrived_);
  return std::move(arrived_);
}

}  // namespace weft::alltoall
