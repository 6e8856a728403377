#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

using plan::After;
using plan::kNoOp;
using plan::OpId;
using plan::Slice;

OpId Transfers::send(int to, After after) {
  const std::uint64_t bytes = exchange_.bytes(exchange_.self, to);
  if (bytes == 0) return kNoOp;
  slices_.clear();
  ops_.clear();
  exchange_.source(to, slices_);
  if (slices_.size() > 1) slices_ = plan::coalesce(slices_);
  if (exchange_.ready) exchange_.ready(to, ops_);
  const int peer = exchange_.members[to];
  if (slices_.size() == 1) return builder_.send(peer, slices_.front(), After(ops_, after));
  const Slice packed = builder_.allocate_scratch(bytes);
  copies_.clear();
  builder_.gather(packed, slices_, ops_, copies_);
  return builder_.send(peer, packed, After(copies_, after));
}

OpId Transfers::receive(int from, After after) {
  const std::uint64_t bytes = exchange_.bytes(from, exchange_.self);
  if (bytes == 0) return kNoOp;
  slices_.clear();
  ops_.clear();
  exchange_.target(from, slices_);
  if (slices_.size() > 1) slices_ = plan::coalesce(slices_);
  if (exchange_.vacated) exchange_.vacated(from, ops_);
  const int peer = exchange_.members[from];
  if (slices_.size() == 1) {
    arrived_.push_back(builder_.recv(peer, slices_.front(), After(after, ops_)));
    return arrived_.back();
  }
  const Slice packed = builder_.allocate_scratch(bytes);
  const OpId received = builder_.recv(peer, packed, after);
  builder_.scatter(slices_, packed, After(received, ops_), arrived_);
  return received;
}

Arrived Transfers::finish() && {
  const int self = exchange_.self;
  if (exchange_.bytes(self, self) == 0) return std::move(arrived_);
  std::vector<Slice> targets;
  slices_.clear();
  ops_.clear();
  exchange_.target(self, targets);
  exchange_.source(self, slices_);
  if (exchange_.ready) exchange_.ready(self, ops_);
  builder_.copy(targets, slices_, ops_, arrived_);
  return std::move(arrived_);
}

void Chain::step(int to, int from) {
  const After previous(previous_);
  const OpId received = from >= 0 ? transfers_.receive(from, previous) : kNoOp;
  const OpId sent = to >= 0 ? transfers_.send(to, previous) : kNoOp;
  if (received != kNoOp || sent != kNoOp) previous_ = {received, sent};
}

}  // namespace weft::alltoall
