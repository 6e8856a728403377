// Stage layout: places of the messages of a scheme in the stages of a node.
#pragma once

#include <optional>
#include <vector>

#include "alltoall/schemes/lanes.hpp"
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
  std::vector<Message> in;   // the same; known where it distributes or is self

  const Member& member() const { return (*lane)[static_cast<std::size_t>(index)]; }
};

/// What the ranks of one domain have for the messages of a post in another: the first of two steps
/// puts it together in the stage of one of them, which then passes it on. Of each message the lines
/// of its sources, in order.
struct Relay {
  int via = -1;                  // the rank; -1: there is no such relay
  std::span<const int> sources;  // the ranks of the domain
  std::vector<Message> out;      // in the stage of `via`, by index of the other member
};

/// How what ranks have for a message comes into the stage that it is sent from.
enum class Gather {
  straight,    ///< each rank puts its own there
  by_domains,  ///< by way of a rank of its own domain, which passes on what it has of all (Relay)
};

/// The posts of one node, and its ranks' stages:
///
///   | for exchange_blocks() | what the rank sends | what it receives | what it passes on |
///
/// the second and third lane after lane, message after message by the other's index, and so the
/// last for each post that the rank is a relay for; each part rounded up to the alignment. Blocks
/// above `limit` are left out of messages. A rank's messages need no stage where they have its own
/// blocks alone; in place and in slots they always do on the way out, in place as what comes goes
/// where they lay.
///
/// With a `slot` each block has so many bytes in messages, whatever it has itself (`limit` at
/// most). Then messages follow from the machine alone, and a rank needs to know only its own
/// blocks.
class StageLayout {
 public:
  /// The arguments must live longer.
  StageLayout(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
              const hierarchy::InsideNode& inside, std::span<const Lane> lanes, Gather gather,
              int self, std::uint64_t limit, std::optional<std::uint64_t> slot);

  std::span<const Post> posts() const { return posts_; }
  bool has_relays() const { return !relays_.empty(); }
  /// By which the ranks of the domain of `from` reach a post of their node; null where each puts
  /// its own there: in the post's own domain, and alone in one's domain.
  const Relay* relay(const Post& post, int from) const {
    if (!has_relays()) return nullptr;
    return relay_of_domain(post, machine_.domain_of(from) - machine_.first_domain(blocks_.node()));
  }
  /// The same by the domain's number on the node.
  const Relay* relay_of_domain(const Post& post, int domain) const {
    const auto number = static_cast<std::size_t>(&post - posts_.data());
    const Relay& relay =
        relays_[number * static_cast<std::size_t>(domains_) + static_cast<std::size_t>(domain)];
    return relay.via < 0 ? nullptr : &relay;
  }
  std::uint64_t stage_bytes(int rank) const { return ends_[machine_.place_of(rank)]; }

  /// The bytes that each block of a message takes there; nullopt: those that it has.
  const std::optional<std::uint64_t>& slot() const { return slot_; }
  /// The bytes that a block takes in a message.
  std::uint64_t out_room(int from, int to) const { return slot_ ? *slot_ : out_bytes(from, to); }
  std::uint64_t in_room(int to, int from) const { return slot_ ? *slot_ : in_bytes(to, from); }
  /// The same of the blocks of several for several.
  std::uint64_t out_room(std::span<const int> from, std::span<const int> to) const;
  std::uint64_t in_room(std::span<const int> to, std::span<const int> from) const;
  /// The bytes of a block that go in a message.
  std::uint64_t out_bytes(int from, int to) const { return kept(blocks_.sent_bytes(from, to)); }
  std::uint64_t in_bytes(int to, int from) const { return kept(blocks_.received_bytes(to, from)); }

 private:
  std::uint64_t kept(std::uint64_t bytes) const { return bytes <= limit_ ? bytes : 0; }
  void place(bool out, int self);
  void place_relays();
  Relay make_relay(const Post& post, std::span<const int> sources);

  const hierarchy::LocalBlocks& blocks_;
  const hierarchy::Machine& machine_;
  const std::uint64_t limit_;
  const std::optional<std::uint64_t> slot_;
  const std::optional<std::uint64_t> room_;  // of every block, where all take as much
  const int domains_;                        // of the node
  std::vector<Post> posts_;
  std::vector<Relay> relays_;        // by post, then by domain; none where all go straight
  std::vector<std::uint64_t> ends_;  // by place: of what is placed so far
};

}  // namespace weft::alltoall
