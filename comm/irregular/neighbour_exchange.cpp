#include "comm/irregular/neighbour_exchange.hpp"

#include <algorithm>

#include "alltoall/schemes/neighbours.hpp"
#include "base/error.hpp"
#include "engine/program/inline_messages.hpp"

namespace weft::comm {

namespace {

// As in an alltoallv on one node: larger ones are copied from buffer to buffer.
constexpr std::uint64_t kMostInSlot = 16 << 10;
constexpr std::uint64_t kLeastInSlot = 64;
// What ranks compare of their calls.
constexpr std::uint32_t kKey = 0x4e16b0;

bool is_alike(std::span<const plan::Edge> known, std::span<const Edge> given) {
  if (known.size() != given.size()) return false;
  return std::ranges::equal(known, given, [](const plan::Edge& a, const Edge& b) {
    return a.rank == b.rank && a.block.offset == b.offset && a.block.bytes == b.bytes;
  });
}

std::vector<plan::Edge> copy_of(std::span<const Edge> given) {
  std::vector<plan::Edge> edges;
  for (const Edge& edge : given) edges.push_back({edge.rank, {edge.offset, edge.bytes}});
  return edges;
}

/// The pairs of this rank and neighbours of its node that are joined by several edges: what goes
/// through their slots is no single block, as inline messages are.
std::vector<bool> places_of_several(const plan::Edges& edges, std::span<const int> place_of_rank) {
  std::vector<bool> several(place_of_rank.size());
  for (const auto* list : {&edges.out, &edges.in}) {
    std::vector<int> count(place_of_rank.size());
    for (const plan::Edge& edge : *list) {
      const int place = place_of_rank[static_cast<std::size_t>(edge.rank)];
      if (place < 0 || edge.block.bytes == 0) continue;
      if (++count[static_cast<std::size_t>(place)] > 1) several[place] = true;
    }
  }
  return several;
}

}  // namespace

NeighbourExchange::NeighbourExchange(Resources& resources)
    : resources_(resources), sent_(static_cast<std::size_t>(resources.size())) {
  const std::uint64_t limit = resources.settings().stage_bytes / 2;
  const int places = resources.machine().widest();
  std::uint64_t bytes = kMostInSlot;
  while (bytes >= kLeastInSlot && alltoall::neighbours_stage_bytes(places, bytes) > limit) {
    bytes /= 2;
  }
  most_in_slot_ = bytes >= kLeastInSlot ? bytes : 0;
  resources.make_stages(alltoall::neighbours_stage_bytes(places, most_in_slot_));
}

void NeighbourExchange::add_uses(const Known& one, std::span<std::uint64_t> bytes) const {
  for (const plan::Edge& edge : one.edges.out) {
    bytes[static_cast<std::size_t>(edge.rank)] += one.uses * edge.block.bytes;
  }
}

void NeighbourExchange::add_sent(std::span<std::uint64_t> bytes) const {
  for (std::size_t to = 0; to < sent_.size(); ++to) bytes[to] += sent_[to];
  for (const Known& one : known_) add_uses(one, bytes);
}

/// All ranks come here in their first call, so that they can vote on what it sets up; later only
/// those whose edges are new.
engine::Prepared NeighbourExchange::prepare(const plan::Edges& edges) {
  plan::Plan plan;
  const auto make_plan = [&] {
    plan = alltoall::neighbours(edges, resources_.machine(), resources_.rank(), most_in_slot_);
  };
  if (is_connected_) {
    make_plan();
    resources_.connect_pairs(plan);
  } else {
    resources_.members().agree(make_plan);
    resources_.connect(std::span(&plan, 1));
    is_connected_ = true;
  }
  auto inline_ops = engine::inline_messages_of_slots(plan, resources_.place_of_rank());
  // They come in twos: what is written or waited for, and the message itself.
  const std::vector<bool> several = places_of_several(edges, resources_.place_of_rank());
  std::vector<engine::InlineOp> kept;
  for (std::size_t i = 0; i + 1 < inline_ops.size(); i += 2) {
    if (several[static_cast<std::size_t>(inline_ops[i + 1].place)]) continue;
    kept.insert(kept.end(), {inline_ops[i], inline_ops[i + 1]});
  }
  return resources_.prepare(plan, kept);
}

NeighbourExchange::Known& NeighbourExchange::known(std::span<const Edge> out,
                                                   std::span<const Edge> in) {
  const auto is_it = [&](const Known& one) {
    return is_alike(one.edges.out, out) && is_alike(one.edges.in, in);
  };
  if (last_ < known_.size() && is_it(known_[last_])) return known_[last_];
  auto found = std::ranges::find_if(known_, is_it);
  if (found == known_.end()) {
    if (known_.size() == kMostKnown) {
      add_uses(known_.front(), sent_);
      known_.erase(known_.begin());
    }
    Known fresh{{copy_of(out), copy_of(in)}, std::make_shared<Call>(), 0};
    Call& call = *fresh.call;
    call.problem.collective = plan::Collective::alltoallv;
    call.problem.ranks = resources_.size();
    call.key = kKey;
    call.is_plain = true;
    for (const Edge& edge : out) call.input_bytes += edge.bytes;
    call.slice = prepare(fresh.edges);
    call.slice->call = {plan::Collective::alltoallv, 0, call.input_bytes};
    known_.push_back(std::move(fresh));
    found = known_.end() - 1;
  }
  last_ = static_cast<std::size_t>(found - known_.begin());
  return *found;
}

const std::shared_ptr<Call>& NeighbourExchange::call_for(std::span<const Edge> out,
                                                         std::span<const Edge> in) {
  try {
    Known& one = known(out, in);
    ++one.uses;
    return one.call;
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_connected_) throw;  // all ranks have it
    resources_.poison_all(error.what());
  }
}

}  // namespace weft::comm
