// Local blocks: the blocks of an alltoall that the ranks of one node know.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "plan/slice.hpp"

namespace weft::hierarchy {

/// The blocks that the ranks of one node send and receive, of an alltoall or alltoallv.
///
/// Counts are published inside a node and nowhere else, so the plan of a rank may depend on those
/// of its own node's ranks alone. This is the only way in which the algorithms of alltoall see a
/// problem: to ask for the blocks of a rank of another node is a UsageError.
class LocalBlocks {
 public:
  using Rows = std::vector<std::span<const plan::Block>>;

  /// The rows of `node`; those of other nodes are not looked at and may be empty. UsageError where
  /// a row of `node` does not have a block for each rank. The arguments must live longer.
  LocalBlocks(const plan::Problem& problem, const Machine& machine, int node);
  /// An alltoallv: what each rank of `node` sends to every rank and receives from every rank, by
  /// place. In place `sends` is empty. The same errors.
  LocalBlocks(const Machine& machine, int node, const Rows& sends, const Rows& receives,
              bool in_place);
  /// The same where only the rows of `rank` are known: to ask for its neighbours' is an error, too.
  static LocalBlocks of_rank(const Machine& machine, int rank, std::span<const plan::Block> sends,
                             std::span<const plan::Block> receives, bool in_place);

  int ranks() const { return machine_->ranks(); }
  int node() const { return node_; }
  bool in_place() const { return in_place_; }
  /// The size of all blocks where that is one number, which every rank knows (alltoall).
  std::optional<std::uint64_t> constant_bytes() const { return constant_bytes_; }

  std::uint64_t sent_bytes(int local, int to) const { return sent(local, to).bytes; }
  std::uint64_t received_bytes(int local, int from) const { return received(local, from).bytes; }
  /// The place of the block of `local` for `to`: in its input, or for a call in place its output.
  plan::Slice source(int local, int to) const {
    const plan::Block block = sent(local, to);
    return plan::Slice::contiguous(in_place_ ? plan::Space::output : plan::Space::input, local,
                                   block.offset, block.bytes);
  }
  /// The place where the block of `from` for `local` must arrive.
  plan::Slice target(int local, int from) const {
    const plan::Block block = received(local, from);
    return plan::Slice::contiguous(plan::Space::output, local, block.offset, block.bytes);
  }

  /// The size of the largest block that `local` sends or receives, its own one included.
  std::uint64_t largest(int local) const;

  std::uint64_t input_bytes(int local) const;
  std::uint64_t output_bytes(int local) const;

 private:
  /// By rank, a block for each rank; null where they are not known.
  using Known = std::vector<const plan::Block*>;

  LocalBlocks(const Machine& machine, int node, bool in_place)
      : machine_(&machine), node_(node), in_place_(in_place) {}
  void learn(std::span<const int> of, const Rows& rows, std::string_view what, Known& known) const;
  plan::Block sent(int local, int to) const {
    return block(in_place_ ? receives_ : sends_, local, to);
  }
  plan::Block received(int local, int from) const { return block(receives_, local, from); }
  plan::Block block(const Known& known, int local, int other) const {
    if (constant_bytes_) {
      if (machine_->node_of(local) != node_) refuse(local);
      return {static_cast<std::uint64_t>(other) * stride_, *constant_bytes_};
    }
    const plan::Block* row = known[static_cast<std::size_t>(local)];
    if (row == nullptr) refuse(local);
    return row[other];
  }
  std::span<const plan::Block> row(const Known& known, int local) const;
  [[noreturn]] void refuse(int rank) const;

  const Machine* machine_;
  int node_;
  bool in_place_;
  std::optional<std::uint64_t> constant_bytes_;
  std::uint64_t stride_ = 0;
  Known sends_;
  Known receives_;
};

}  // namespace weft::hierarchy
