#include <array>

#include "base/error.hpp"
#include "gather/registry.hpp"
#include "gather/schemes/schemes.hpp"

namespace weft::gather {

using plan::Builder;
using plan::Collective;

namespace {

using TreeFragment = Arrived (*)(Builder&, const Team&, Topology, int);

template <TreeFragment fragment, Topology topology>
Arrived along(Builder& builder, const Team& team, const Parameters& parameters) {
  return fragment(builder, team, topology, parameters.radix);
}

template <Allgather fragment>
Arrived all(Builder& builder, const Team& team, const Parameters& /*parameters*/) {
  return fragment(builder, team);
}

template <Allgather fragment>
Arrived by_parts(Builder& builder, const Team& team, const Parameters& /*parameters*/) {
  return scatter_allgather(builder, team, fragment);
}

Arrived bruck(Builder& builder, const Team& team, const Parameters& parameters) {
  return bruck_allgather(builder, team, parameters.radix);
}

template <Topology topology>
Ops meet_along(Builder& builder, const Meeting& meeting, const Parameters& parameters) {
  return tree_barrier(builder, meeting, topology, parameters.radix);
}

Ops meet_by_dissemination(Builder& builder, const Meeting& meeting, const Parameters& parameters) {
  return dissemination_barrier(builder, meeting, parameters.radix);
}

template <Ops (*fragment)(Builder&, const Meeting&)>
Ops meet(Builder& builder, const Meeting& meeting, const Parameters& /*parameters*/) {
  return fragment(builder, meeting);
}

/// The four trees, for one fragment.
template <TreeFragment fragment>
constexpr std::array<FlatAlgorithm, 4> trees() {
  return {{
      {"binomial", "few rounds; rounds of radix - 1 children that each take their share", true,
       true, along<fragment, binomial_tree>, nullptr},
      {"binary", "two children each: few rounds, and segments flow", false, true,
       along<fragment, binary_tree>, nullptr},
      {"chain", "from each to the next, for long data in segments", false, true,
       along<fragment, chain_tree>, nullptr},
      {"sequential", "the root with each, all at once", false, true,
       along<fragment, sequential_tree>, nullptr},
  }};
}

template <class T, std::size_t n, std::size_t m>
constexpr std::array<T, n + m> joined(const std::array<T, n>& first, const std::array<T, m>& more) {
  std::array<T, n + m> result{};
  std::copy(first.begin(), first.end(), result.begin());
  std::copy(more.begin(), more.end(), result.begin() + n);
  return result;
}

constexpr auto kBroadcasts =
    joined(trees<tree_broadcast>(),
           std::array<FlatAlgorithm, 2>{{
               {"scatter-doubling", "parts scattered, then all to all by recursive doubling", false,
                false, by_parts<doubling_allgather>, nullptr},
               {"scatter-ring", "parts scattered, then all to all around a ring; for long data",
                false, false, by_parts<ring_allgather>, nullptr},
           }});
constexpr auto kScatters = trees<tree_scatter>();
constexpr auto kGathers = trees<tree_gather>();
constexpr std::array<FlatAlgorithm, 5> kAllgathers = {{
    {"ring", "each passes on what came last; for long blocks", false, false, all<ring_allgather>,
     nullptr},
    {"doubling", "pairs exchange all they have, at twice the distance each round", false, false,
     all<doubling_allgather>, nullptr},
    {"bruck", "the fewest rounds for any number of ranks; for small blocks", true, false, bruck,
     nullptr},
    {"neighbor", "pairs of neighbours in turn; half the rounds of a ring", false, false,
     all<neighbor_allgather>, nullptr},
    {"gather-broadcast", "to the first rank and back, along binomial trees", true, false,
     along<gather_broadcast, binomial_tree>, nullptr},
}};
constexpr std::array<FlatAlgorithm, 6> kBarriers = {{
    {"dissemination", "each tells one at twice the distance each round", true, false, nullptr,
     meet_by_dissemination},
    {"tournament", "pairs meet, winners go on, the champion lets all go", false, false, nullptr,
     meet<tournament_barrier>},
    {"binomial", "up a binomial tree and down", true, false, nullptr, meet_along<binomial_tree>},
    {"binary", "up a binary tree and down", false, false, nullptr, meet_along<binary_tree>},
    {"sequential", "one waits for all, then lets all go", false, false, nullptr,
     meet_along<sequential_tree>},
    {"ring", "a note goes around twice", false, false, nullptr, meet<ring_barrier>},
}};

constexpr std::array<InsideAlgorithm, 6> kInside = {{
    {"staged", "copies by way of the node's stages", nullptr, InsideForm::staged},
    {"direct", "copies from and into the buffers of other ranks", nullptr, InsideForm::direct},
    {"binomial", "messages along a binomial tree", binomial_tree, InsideForm::staged},
    {"binary", "messages along a binary tree", binary_tree, InsideForm::staged},
    {"chain", "messages from each to the next", chain_tree, InsideForm::staged},
    {"sequential", "messages between one and each", sequential_tree, InsideForm::staged},
}};
/// A barrier has signals in place of messages, and nothing to copy.
constexpr std::array<InsideAlgorithm, 3> kInsideBarrier = {{
    {"sequential", "one waits for all, then lets all go", sequential_tree, InsideForm::staged},
    {"binomial", "up a binomial tree and down", binomial_tree, InsideForm::staged},
    {"binary", "up a binary tree and down", binary_tree, InsideForm::staged},
}};

constexpr std::array<Scheme, 2> kBroadcastSchemes = {{
    {"leader", "parts go between leaders, who pass them on inside their nodes", true, true, true,
     leader_broadcast},
    {"multi-object", "each rank of a node sends to another node; for small data", false, false,
     false, multi_object_broadcast},
}};
constexpr std::array<Scheme, 2> kScatterSchemes = {{
    {"leader", "leaders receive for their groups", true, true, false, leader_scatter},
    {"multi-object", "each rank of a node sends one part on", false, false, false,
     multi_object_scatter, true},
}};
constexpr std::array<Scheme, 1> kGatherSchemes = {{
    {"leader", "leaders collect from their groups and send", true, true, false, leader_gather},
}};
constexpr std::array<Scheme, 2> kAllgatherSchemes = {{
    {"leader", "leaders exchange for their groups, each node's blocks passed on as they come", true,
     true, false, leader_allgather},
    {"multi-object", "each rank of a node takes a digit of Bruck's radix; for small blocks", false,
     false, false, multi_object_allgather},
}};
constexpr std::array<Scheme, 2> kBarrierSchemes = {{
    {"leader", "one rank of each node meets the others when its node is there", false, true, false,
     leader_barrier},
    {"multi-object", "each rank of a node takes a digit of the radix of dissemination", false,
     false, false, multi_object_barrier},
}};

constexpr Table kBroadcast = {kBroadcasts, kBroadcastSchemes, kInside};
constexpr Table kScatter = {kScatters, kScatterSchemes, kInside};
constexpr Table kGather = {kGathers, kGatherSchemes, kInside};
constexpr Table kAllgather = {kAllgathers, kAllgatherSchemes, kInside};
constexpr Table kBarrier = {kBarriers, kBarrierSchemes, kInsideBarrier};

}  // namespace

const Table& table_of(Collective collective) {
  switch (collective) {
    case Collective::broadcast:
      return kBroadcast;
    case Collective::scatter:
      return kScatter;
    case Collective::gather:
      return kGather;
    case Collective::allgather:
      return kAllgather;
    case Collective::barrier:
      return kBarrier;
    default:
      throw_usage("gather asked for {}: it has broadcast, scatter, gather, allgather and barrier",
                  to_string(collective));
  }
}

}  // namespace weft::gather
