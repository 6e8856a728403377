#include "reduce/schemes/shared_vectors.hpp"

#include <array>

#include "base/cast.hpp"

namespace weft::reduce {

using plan::Slice;
using plan::Space;

SharedVectors::SharedVectors(Ledger& ledger, const Nodes& nodes, std::uint64_t bytes, bool direct)
    : ledger_(ledger),
      nodes_(nodes),
      self_(ledger.builder().rank()),
      bytes_(bytes),
      direct_(direct) {
  if (direct || nodes.own_ranks().size() == 1) return;
  stage_bytes_ = round_up(bytes, plan::kSliceAlignment);
  ledger.builder().allocate_stage(bytes);
}

Slice SharedVectors::of(int rank) const {
  const bool input = rank == self_ || direct_;
  return Slice::contiguous(input ? Space::input : Space::stage, rank, 0, bytes_);
}

void SharedVectors::open(const std::set<int>& readers) {
  const auto peers = nodes_.peers();
  const Slice staged = Slice::contiguous(Space::stage, self_, 0, is_staged() ? bytes_ : 0);
  for (const int peer : peers) {
    if (readers.contains(peer)) ledger_.signal(peer, std::array{staged});
  }
  if (!readers.contains(self_)) return;
  for (const int peer : peers) ledger_.wait(peer, std::array{of(peer)});
}

void SharedVectors::close(const std::set<int>& readers) {
  if (!direct_) return;
  const auto peers = nodes_.peers();
  if (readers.contains(self_)) {
    for (const int peer : peers) ledger_.signal(peer, {}, std::array{of(peer)});
  }
  for (const int peer : peers) {
    if (readers.contains(peer)) ledger_.wait(peer, {});
  }
}

}  // namespace weft::reduce
