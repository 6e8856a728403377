// The first step of every scheme: blocks for other nodes are put together where they are sent from.
#pragma once

#include "alltoall/schemes/stage_layout.hpp"

namespace weft::alltoall {

/// Adds the copies from inputs into the stages of those who send them, by way of relays where the
/// layout has such, and knows what each message must wait for.
class Gathering {
 public:
  /// The arguments must live longer.
  Gathering(plan::Builder& builder, const hierarchy::LocalBlocks& blocks, const StageLayout& layout)
      : builder_(builder),
        blocks_(blocks),
        layout_(layout),
        copied_out_(blocks.in_place() ? static_cast<std::size_t>(blocks.ranks()) : 0) {}

  void run(hierarchy::InsideNode& inside);

  /// Appends the ops after which the message of one of this rank's posts to another member is put
  /// together.
  void add_ready(const Post& post, int to, std::vector<plan::OpId>& ops) const;
  /// In place, appends the ops after which the blocks from `sources` may be overwritten.
  void add_vacated(std::span<const int> sources, std::vector<plan::OpId>& ops) const;

 private:
  /// What one rank has for one message: so many of the targets and of the sources.
  struct Line {
    const Post* post;
    std::size_t message;
    std::size_t targets;
    std::size_t sources;
  };

  bool any(int from, int to) const;
  void copy(int from, int to, plan::After after, std::vector<plan::OpId>& done);
  /// To relays, or else straight into messages.
  void copy(int from, int to, bool to_relays, plan::After after, std::vector<plan::OpId>& done);
  void add_lines(const Post& post, int from, const Relay* relay);
  void copy_joined(bool own, bool to_relays, plan::After after, std::vector<plan::OpId>& done);
  void copy_lines(bool own, bool to_relays, plan::After after, std::vector<plan::OpId>& done);
  /// The second step: what relays pass on.
  void pass_on(hierarchy::InsideNode& inside);
  bool passes_any(int from, int to) const;
  void pass(int from, int to, std::vector<plan::OpId>& done);
  void add_passed(const Post& post, const Relay& relay);
  void make_ready(const Line& line, std::span<const plan::OpId> copies);

  plan::Builder& builder_;
  const hierarchy::LocalBlocks& blocks_;
  const StageLayout& layout_;
  std::vector<plan::Slice> targets_;  // of the move that is being put together
  std::vector<plan::Slice> sources_;  // of the same move
  std::vector<Line> lines_;           // of the same move
  std::vector<plan::OpId> ready_;     // what every message follows
  std::vector<plan::OpId> relayed_;   // what passing on follows
  /// What one message follows beside that: a list for each.
  struct Ready {
    plan::OpId op;
    std::uint32_t next;  // in ready_ops_
  };
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  std::vector<std::vector<std::uint32_t>> ready_of_;  // by post and message: the list's first
  std::vector<Ready> ready_ops_;
  std::vector<std::vector<plan::OpId>> copied_out_;  // in place, by rank: what copied its block
};

}  // namespace weft::alltoall
