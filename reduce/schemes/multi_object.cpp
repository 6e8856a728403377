#include "reduce/schemes/multi_object.hpp"

#include <array>

#include "base/cast.hpp"
#include "reduce/schemes/algorithms.hpp"

namespace weft::reduce {

using plan::Slice;
using plan::Space;

MultiObject::MultiObject(Ledger& ledger, const plan::Problem& problem,
                         const hierarchy::Machine& machine, const Parameters& parameters)
    : ledger_(ledger),
      self_(ledger.builder().rank()),
      nodes_(machine, self_),
      root_(nodes_.own_ranks().front()),
      objects_(nodes_.narrowest()),
      bytes_(problem.block_bytes),
      vectors_(ledger, nodes_, problem.block_bytes, parameters.direct),
      used_(vectors_.stage_bytes()) {}

Slice MultiObject::slot(std::uint64_t bytes) {
  const std::uint64_t at = used_;
  used_ += round_up(bytes, plan::kSliceAlignment);
  if (is_root()) ledger_.builder().allocate_stage(bytes);
  return Slice::contiguous(Space::stage, root_, at, bytes);
}

void MultiObject::reduce_local(const Slice& dst) {
  if (vectors_.is_staged() && !is_root()) {
    ledger_.copy(Slice::contiguous(Space::stage, self_, 0, bytes_), vectors_.of(self_));
  }
  vectors_.open({root_});
  std::vector<Slice> vectors;
  for (const int rank : nodes_.own_ranks()) vectors.push_back(vectors_.of(rank));
  reduce(dst, vectors);
}

void MultiObject::reduce(const Slice& dst, const std::vector<Slice>& slices) {
  if (!is_root()) return;
  ledger_.copy(dst, slices.front());
  for (std::size_t i = 1; i < slices.size(); ++i) {
    ledger_.reduce(dst, slices[i], Operand::left);
  }
}

void MultiObject::round(const std::vector<Hop>& hops) {
  const auto rank = [&](const Hop& hop) { return object(nodes_.own(), hop.object); };
  for (const Hop& hop : hops) {
    if (hop.out.empty() || rank(hop) == root_) continue;
    if (is_root()) ledger_.signal(rank(hop), std::array{hop.out});
    if (rank(hop) == self_) ledger_.wait(root_, std::array{hop.out});
  }
  for (const Hop& hop : hops) {
    if (rank(hop) != self_) continue;
    if (!hop.out.empty()) ledger_.send(object(hop.to, hop.object), hop.out);
    if (!hop.in.empty()) ledger_.recv(object(hop.from, hop.object), hop.in);
  }
  for (const Hop& hop : hops) {
    if (hop.in.empty() || rank(hop) == root_) continue;
    if (rank(hop) == self_) ledger_.signal(root_, std::array{hop.in});
    if (is_root()) ledger_.wait(rank(hop), std::array{hop.in});
  }
}

void MultiObject::share(const Slice& result, int from_object) {
  const int from = object(nodes_.own(), from_object);
  if (self_ == from) {
    for (const int peer : nodes_.peers()) ledger_.signal(peer, std::array{result});
  } else {
    ledger_.wait(from, std::array{result});
  }
  ledger_.copy(Slice::contiguous(Space::output, self_, 0, bytes_), result);
  vectors_.close({root_});
}

}  // namespace weft::reduce
