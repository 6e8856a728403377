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

}  // namespace

OpId send_block(Builder& builder, const Exchange& exchange, int to, After after) {
  const std::uint64_t bytes = exchange.bytes(exchange.self, to);
  if (bytes == 0) return kNoOp;
  const std::vector<Slice> slices = fewest(exchange.source_of(to));
  const std::vector<OpId> ready = exchange.ready_for(to);
  const int peer = exchange.members[to];
  if (slices.size() == 1) return builder.send(peer, slices.front(), After(ready, after));
  const Slice packed = builder.allocate_scratch(bytes);
  std::vector<OpId> copies;
  builder.gather(packed, slices, ready, copies);
  return builder.send(peer, packed, After(copies, after));
}

OpId receive_block(Builder& builder, const Exchange& exchange, int from, std::vector<OpId>& arrived,
                   After after) {
  const std::uint64_t bytes = exchange.bytes(from, exchange.self);
  if (bytes == 0) return kNoOp;
  const std::vector<Slice> slices = fewest(exchange.target_of(from));
  const std::vector<OpId> vacated = exchange.vacated_for(from);
  const int peer = exchange.members[from];
  if (slices.size() == 1) {
    arrived.push_back(builder.recv(peer, slices.front(), After(after, vacated)));
    return arrived.back();
  }
  const Slice packed = builder.allocate_scratch(bytes);
  const OpId received = builder.recv(peer, packed, after);
  builder.scatter(slices, packed, After(received, vacated), arrived);
  return received;
}

void copy_own_block(Builder& builder, const Exchange& exchange, Arrived& arrived) {
  const int self = exchange.self;
  if (exchange.bytes(self, self) == 0) return;
  builder.copy(exchange.target_of(self), exchange.source_of(self), exchange.ready_for(self),
               arrived[self]);
}

void Chain::step(int to, int from) {
  OpId received = kNoOp;
  OpId sent = kNoOp;
  if (from >= 0) received = receive_block(builder_, exchange_, from, arrived_[from], previous_);
  if (to >= 0) sent = send_block(builder_, exchange_, to, previous_);
  if (received != kNoOp || sent != kNoOp) previous_ = {received, sent};
}

Arrived Chain::finish() && {
  copy_own_block(builder_, exchange_, arrived_);
  return std::move(arrived_);
}

}  // namespace weft::alltoall
