#include "alltoall/stage_layout.hpp"

#include "base/cast.hpp"

namespace weft::alltoall {

namespace {

bool is_alone(std::span<const int> ranks, int rank) {
  return ranks.size() == 1 && ranks.front() == rank;
}

}  // namespace

StageLayout::StageLayout(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
                         const hierarchy::InsideNode& inside, std::span<const Lane> lanes, int self,
                         std::uint64_t limit)
    : blocks_(blocks), machine_(machine), limit_(limit) {
  for (const int rank : machine.ranks_on(blocks.node())) ends_.push_back(inside.stage_bytes(rank));
  for (const Lane& lane : lanes) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const Member& member = lane[i];
      if (member.node != blocks.node()) continue;
      Post post;
      post.lane = &lane;
      post.index = static_cast<int>(i);
      post.gathers = blocks.in_place() || !is_alone(member.senders, member.rank);
      post.distributes = !is_alone(member.receivers, member.rank);
      posts_.push_back(std::move(post));
    }
  }
  place(true, self);
  place(false, self);
}

std::uint64_t StageLayout::bytes_out(const Member& from, const Member& to) const {
  if (const auto constant = blocks_.constant_bytes()) {
    return kept(*constant) * from.senders.size() * to.receivers.size();
  }
  std::uint64_t bytes = 0;
  for (const int source : from.senders) {
    for (const int target : to.receivers) bytes += out_bytes(source, target);
  }
  return bytes;
}

std::uint64_t StageLayout::bytes_in(const Member& to, const Member& from) const {
  if (const auto constant = blocks_.constant_bytes()) {
    return kept(*constant) * from.senders.size() * to.receivers.size();
  }
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

}  // namespace weft::alltoall
