// Neighbours: every edge goes straight from rank to rank.
//
//   rank 1 of a ring, with two edges to rank 2:
//     to 0 (its node)        --> slot of its stage, signal      | 0 reads the slot
//     to 2 (another node)    --> send, send                     | 2: recv, recv
//     to 1 (itself)          --> copy
//
// No rank knows the edges of another one, so there is nobody who could bring several ranks' blocks
// together: that is alltoallv's, whose ranks tell their node what they have. A rank turns to the
// ranks behind it first, so that not all turn to rank 0; the edges of a pair keep their order, by
// which the two ends match them.
//
// Edges without a byte cost nothing, and are left out here. With d edges out and i edges in, of m
// bytes each:
//   rounds    1
//   messages  the edges to other nodes, and those of pairs with more than `most_in_slot` bytes
//   bytes     of these edges: each crosses once
//   signals   pairs of a node whose edges go through a slot
//   copied    2 m an edge through a slot (one of them at each end), m an edge to itself
//   stage     (P - 1) (most_in_slot + 64) with P ranks on the node, whatever the edges are; scratch
//   0
//
// Source: Hoefler, Schneider, "Optimization Principles for Collective Neighborhood Communications",
// SC 2012, section 3; what the two ends must match by: MPI 4.0, section 8.6.
#include "alltoall/schemes/neighbours.hpp"

#include <algorithm>
#include <vector>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "plan/builder.hpp"

namespace weft::alltoall {

using hierarchy::Machine;
using plan::Edge;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

// Between slots, as in hierarchy/inside_node.cpp: caches.
constexpr std::uint64_t kSkew = 64;

std::uint64_t slot_bytes(std::uint64_t most_in_slot) {
  return most_in_slot == 0 ? 0 : round_up(most_in_slot, plan::kSliceAlignment) + kSkew;
}

std::uint64_t end_of(const std::vector<Edge>& edges) {
  std::uint64_t end = 0;
  for (const Edge& edge : edges) {
    if (edge.block.bytes != 0) end = std::max(end, edge.block.offset + edge.block.bytes);
  }
  return end;
}

/// The edges between this rank and another one, in one direction.
struct Pair {
  int peer = 0;
  std::uint64_t bytes = 0;
  std::vector<Slice> slices;
};

class Neighbours {
 public:
  Neighbours(const plan::Edges& edges, const Machine& machine, int rank, std::uint64_t most_in_slot)
      : machine_(machine),
        self_(rank),
        most_in_slot_(most_in_slot),
        builder_(rank, machine.ranks(), end_of(edges.out), end_of(edges.in)),
        out_(pairs_of(edges.out, Space::input, 1)),
        in_(pairs_of(edges.in, Space::output, -1)) {}

  plan::Plan emit() && {
    builder_.allocate_stage(
        neighbours_stage_bytes(machine_.ranks_on_node_of(self_), most_in_slot_));
    for (const Pair& pair : in_) {
      if (!is_message(pair)) continue;
      for (const Slice& slice : pair.slices) builder_.recv(pair.peer, slice);
    }
    for (const Pair& pair : out_) {
      if (!is_message(pair)) continue;
      for (const Slice& slice : pair.slices) builder_.send(pair.peer, slice);
    }
    for (const Pair& pair : out_) {
      if (is_in_slot(pair)) put(pair);
    }
    copy_own();
    for (const Pair& pair : in_) {
      if (is_in_slot(pair)) take(pair);
    }
    return std::move(builder_).finish();
  }

 private:
  /// By the distance of the peer from this rank in `direction` around all ranks.
  std::vector<Pair> pairs_of(const std::vector<Edge>& edges, Space space, int direction) const {
    const int ranks = machine_.ranks();
    const auto distance = [&](const Edge* edge) {
      return (direction * (edge->rank - self_) + ranks) % ranks;
    };
    std::vector<const Edge*> sorted;
    for (const Edge& edge : edges) {
      if (edge.rank < 0 || edge.rank >= ranks) {
        throw_usage("an edge of rank {} with rank {}: from 0 to {}", self_, edge.rank, ranks - 1);
      }
      if (edge.block.bytes != 0) sorted.push_back(&edge);
    }
    std::ranges::stable_sort(sorted, {}, distance);
    std::vector<Pair> pairs;
    for (const Edge* edge : sorted) {
      if (pairs.empty() || pairs.back().peer != edge->rank) pairs.push_back({edge->rank, 0, {}});
      pairs.back().bytes += edge->block.bytes;
      pairs.back().slices.push_back(
          Slice::contiguous(space, self_, edge->block.offset, edge->block.bytes));
    }
    return pairs;
  }

  bool is_in_slot(const Pair& pair) const {
    return pair.peer != self_ && machine_.same_node(pair.peer, self_) &&
           pair.bytes <= most_in_slot_;
  }
  bool is_message(const Pair& pair) const { return pair.peer != self_ && !is_in_slot(pair); }

  /// In the stage of `from`, by the places of the others.
  Slice slot(int from, int to, std::uint64_t bytes) const {
    const int place = machine_.place_of(to);
    const int number = place < machine_.place_of(from) ? place : place - 1;
    return Slice::contiguous(Space::stage, from,
                             static_cast<std::uint64_t>(number) * slot_bytes(most_in_slot_), bytes);
  }

  void put(const Pair& pair) {
    std::vector<OpId> written;
    builder_.gather(slot(self_, pair.peer, pair.bytes), pair.slices, {}, written);
    builder_.signal(pair.peer, written);
  }

  void take(const Pair& pair) {
    std::vector<OpId> read;
    const OpId come = builder_.wait(pair.peer);
    builder_.scatter(pair.slices, slot(pair.peer, self_, pair.bytes), come, read);
  }

  void copy_own() {
    const auto to_self = [this](const std::vector<Pair>& pairs) {
      const auto found = std::ranges::find(pairs, self_, &Pair::peer);
      return found == pairs.end() ? std::vector<Slice>() : found->slices;
    };
    std::vector<OpId> copied;
    const std::vector<Slice> sources = to_self(out_), targets = to_self(in_);
    if (!sources.empty() || !targets.empty()) builder_.copy(targets, sources, {}, copied);
  }

  const Machine& machine_;
  const int self_;
  const std::uint64_t most_in_slot_;
  plan::Builder builder_;
  const std::vector<Pair> out_;
  const std::vector<Pair> in_;
};

}  // namespace

plan::Plan neighbours(const plan::Edges& edges, const Machine& machine, int rank,
                      std::uint64_t most_in_slot) {
  return Neighbours(edges, machine, rank, most_in_slot).emit();
}

std::uint64_t neighbours_stage_bytes(int places, std::uint64_t most_in_slot) {
  return static_cast<std::uint64_t>(places - 1) * slot_bytes(most_in_slot);
}

}  // namespace weft::alltoall
