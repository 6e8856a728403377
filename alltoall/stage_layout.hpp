// Where the messages of a scheme lie in the stages of a node.
#pragma once

#include <vector>

#include "alltoall/lanes.hpp"
#include "hierarchy/inside_node.hpp"

namespace weft::alltoall {

/// One message to or from another member of a lane.
struct Message {
  std::uint64_t offset = 0;  // in the stage, where it is staged
  std::uint64_t bytes = 0;
};

/// A rank of this node as a member of a lane.
struct Post {
  const Lane* lane = nullptr;
  int index = 0;             // in the lane
  bool gathers = false;      // what it sends is put together in its stage first
  bool distributes = false;  // what it receives is taken out of its stage
  std::vector<Message> out;  // by index of the other member; known where it gathers or is self
  std::vector<Message> in;   // likewise, where it distributes or is self

  const Member& member() const { return (*lane)[static_cast<std::size_t>(index)]; }
};

/// The posts of one node, and its ranks' stages:
///
///   | for exchange_blocks() | what the rank sends | what it receives |
///
/// the second and third lane after lane, message after message by the other's index, each part
/// rounded up to the alignment. Blocks above `limit` are left out of messages. A rank's messages
/// need no stage where they have its own blocks alone; in place they always do on the way out, as
/// what comes goes where they lay.
class StageLayout {
 public:
  /// The arguments must live longer.
  StageLayout(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
              const hierarchy::InsideNode& inside, std::span<const Lane> lanes, int self,
              std::uint64_t limit);

  std::span<const Post> posts() const { return posts_; }
  std::uint64_t stage_bytes(int rank) const { return ends_[machine_.place_of(rank)]; }

  /// The bytes of a block that go in a message.
  std::uint64_t out_bytes(int from, int to) const { return kept(blocks_.sent_bytes(from, to)); }
  std::uint64_t in_bytes(int to, int from) const { return kept(blocks_.received_bytes(to, from)); }

 private:
  std::uint64_t kept(std::uint64_t bytes) const { return bytes <= limit_ ? bytes : 0; }
  std::uint64_t bytes_out(const Member& from, const Member& to) const;
  std::uint64_t bytes_in(const Member& to, const Member& from) const;
  void place(bool out, int self);

  const hierarchy::LocalBlocks& blocks_;
  const hierarchy::Machine& machine_;
  const std::uint64_t limit_;
  std::vector<Post> posts_;
  std::vector<std::uint64_t> ends_;  // by place: of what is placed so far
};

}  // namespace weft::alltoall
