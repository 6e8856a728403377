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

/// Where all blocks take as much room.
std::optional<std::uint64_t> StageLayout::room() const {
  if (slot_) return slot_;
  const auto constant = blocks_.constant_bytes();
  return constant ? std::optional(kept(*constant)) : std::nullopt;
}

std::uint64_t StageLayout::bytes_out(const Member& from, const Member& to) const {
  if (const auto each = room()) return *each * from.senders.size() * to.receivers.size();
  std::uint64_t bytes = 0;
  for (const int source : from.senders) {
    for (const int target : to.receivers) bytes += out_bytes(source, target);
  }
  return bytes;
}

std::uint64_t StageLayout::bytes_in(const Member& to, const Member& from) const {
  if (const auto each = room()) return *each * from.senders.size() * to.receivers.size();
  std::uint64_t bytes = 0;
  for (const int target : to.receivers) {
    for (const int source : from.senders) bytes += in_bytes(target, source);
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
      messages[i] = {end, out ? bytes_out(own, other) : bytes_in(own, other)};
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
    Member some = post.member();
    some.senders = sources;
    relay.out[i] = {end, bytes_out(some, (*post.lane)[i])};
    end += relay.out[i].bytes;
  }
  return relay;
}

}  // namespace weft::alltoall
