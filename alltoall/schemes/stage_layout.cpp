#include "alltoall/schemes/stage_layout.hpp"

#include <algorithm>

#include "base/cast.hpp"

namespace weft::alltoall {

namespace {

bool is_alone(std::span<const int> ranks, int rank) {
  return ranks.size() == 1 && ranks.front() == rank;
}

}  // namespace

StageLayout::StageLayout(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
                         const hierarchy::InsideNode& inside, std::span<const Lane> lanes,
                         Gather gather, int self, std::uint64_t limit,
                         std::optional<std::uint64_t> slot)
    : blocks_(blocks),
      machine_(machine),
      limit_(limit),
      slot_(slot),
      room_(slot || !blocks.constant_bytes() ? slot : kept(*blocks.constant_bytes())),
      domains_(machine.domains_on(blocks.node())) {
  for (const int rank : machine.ranks_on(blocks.node())) ends_.push_back(inside.stage_bytes(rank));
  for (const Lane& lane : lanes) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const Member& member = lane[i];
      if (member.node != blocks.node()) continue;
      Post post;
      post.lane = &lane;
      post.index = static_cast<int>(i);
      post.gathers = blocks.in_place() || slot || !is_alone(member.senders, member.rank);
      post.distributes = !is_alone(member.receivers, member.rank);
      posts_.push_back(std::move(post));
    }
  }
  place(true, self);
  place(false, self);
  if (gather == Gather::by_domains && domains_ > 1) place_relays();
}

std::uint64_t StageLayout::out_room(std::span<const int> from, std::span<const int> to) const {
  if (room_) return *room_ * from.size() * to.size();
  std::uint64_t bytes = 0;
  for (const int source : from) {
    for (const int target : to) bytes += out_room(source, target);
  }
  return bytes;
}

std::uint64_t StageLayout::in_room(std::span<const int> to, std::span<const int> from) const {
  if (room_) return *room_ * from.size() * to.size();
  std::uint64_t bytes = 0;
  for (const int target : to) {
    for (const int source : from) bytes += in_room(target, source);
  }
  return bytes;
}

/// One part of all stages.
void StageLayout::place(bool out, int self) {
  for (Post& post : posts_) {
    const Member& own = post.member();
    const bool staged = out ? post.gathers : post.distributes;
    if (!staged && own.rank != self) continue;
    std::uint64_t& end = ends_[machine_.place_of(own.rank)];
    auto& messages = out ? post.out : post.in;
    messages.resize(post.lane->size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const Member& other = (*post.lane)[i];
      if (other.node == own.node) continue;
      messages[i] = {end, out ? out_room(own.senders, other.receivers)
                              : in_room(own.receivers, other.senders)};
      if (staged) end += messages[i].bytes;
    }
  }
  for (std::uint64_t& end : ends_) end = round_up(end, plan::kSliceAlignment);
}

void StageLayout::place_relays() {
  for (const Post& post : posts_) {
    const int own = machine_.domain_of(post.member().rank);
    for (int i = 0; i < domains_; ++i) {
      const int domain = machine_.first_domain(blocks_.node()) + i;
      const auto sources = machine_.ranks_in(domain);
      const bool needed = post.gathers && domain != own && sources.size() > 1;
      relays_.push_back(needed ? make_relay(post, sources) : Relay());
    }
  }
  for (std::uint64_t& end : ends_) end = round_up(end, plan::kSliceAlignment);
}

/// The ranks of a domain take turns: the one that stands there as the post's does in its own.
Relay StageLayout::make_relay(const Post& post, std::span<const int> sources) {
  const int rank = post.member().rank;
  const auto peers = machine_.ranks_in(machine_.domain_of(rank));
  const auto position = static_cast<std::size_t>(std::ranges::find(peers, rank) - peers.begin());
  Relay relay{sources[position % sources.size()], sources, {}};
  std::uint64_t& end = ends_[machine_.place_of(relay.via)];
  relay.out.resize(post.out.size());
  for (std::size_t i = 0; i < post.out.size(); ++i) {
    if (post.out[i].bytes == 0) continue;
    relay.out[i] = {end, out_room(sources, (*post.lane)[i].receivers)};
    end += relay.out[i].bytes;
  }
  return relay;
}

}  // namespace weft::alltoall
