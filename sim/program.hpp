// Program: the ops of all ranks' plans in a compact form, sends matched with recvs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"

namespace weft::sim {

/// Makes the plan of a rank. Called once for each rank, in ascending order; a plan is destroyed
/// before the next is made.
using PlanSource = std::function<plan::Plan(int rank)>;

/// An op, by its number among those of all ranks: rank 0's first, each rank's in list order.
using Index = std::uint32_t;
inline constexpr Index kNone = UINT32_MAX;

/// The memory that one side of an op touches, from its first byte to its last.
struct Side {
  std::uint32_t region = kNone;  // see region_of()
  std::uint32_t blocks = 1;
  std::uint64_t offset = 0;
  std::uint64_t extent = 0;  // bytes, the gaps between blocks included
};

inline std::uint32_t region_of(plan::Space space, int owner) {
  return 4 * static_cast<std::uint32_t>(owner) + static_cast<std::uint32_t>(space);
}

/// The rank that owns the memory, and its space.
inline int owner_of(const Side& side) {
  return static_cast<int>(side.region / 4);
}
inline plan::Space space_of(const Side& side) {
  return static_cast<plan::Space>(side.region % 4);
}

/// One op, with the state of its execution.
struct Op {
  plan::OpKind kind = plan::OpKind::copy;
  bool remote = false;                // send, recv: the peer is on another node
  std::uint8_t step = 0;              // of a message: kAsked, kInjected
  std::uint8_t state = 0;             // bits kStarted, kArrived, kBehind
  std::int32_t peer = -1;             // rank
  Index partner = kNone;              // the op at the other end
  Index next = kNone;                 // may start after this one: list order towards one peer
  std::uint32_t pending = 0;          // ops that it still waits for
  std::uint32_t first_successor = 0;  // they end where those of the next op begin
  std::uint32_t first_side = 0;       // copy, reduce: dst, src; send, recv: their own
  Index link = kNone;                 // the next in its queue
  std::uint64_t bytes = 0;            // send: those still to be handed to the adapter
  std::int64_t time = 0;              // when its core left it; before that, its earliest post
};
static_assert(sizeof(Op) <= 56);

/// Summary of a rank's plan.
struct RankSpan {
  Index first_op = 0;
  std::uint64_t footprint = 0;  // bytes of all spaces
};

/// The plans of all ranks, matched.
class Program {
 public:
  /// UsageError where plans do not fit together: a send without its recv, or of another size;
  /// another rank or number of ranks; signals between nodes. Sends to other nodes of up to
  /// `stored_bytes` are read by the core.
  Program(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
          std::uint64_t stored_bytes);

  std::vector<Op>& ops() { return ops_; }
  std::span<const Index> successors(Index op) const {
    return std::span(successors_)
        .subspan(ops_[op].first_successor, ops_[op + 1].first_successor - ops_[op].first_successor);
  }
  const Side& side(const Op& op, int which) const { return sides_[op.first_side + which]; }
  Index first_op(int rank) const { return ranks_[rank].first_op; }
  Index op_count() const { return static_cast<Index>(ops_.size() - 1); }
  std::uint64_t footprint(int rank) const { return ranks_[rank].footprint; }
  /// Whether the cache model must track that memory: cores read it, or write what adapters fetch.
  bool is_tracked(std::uint32_t region) const {
    return is_read_[region] || (is_written_[region] && is_fetched_[region]);
  }

  std::uint64_t messages = 0;  // between nodes
  std::uint64_t wire_bytes = 0;

 private:
  void add(const plan::Plan& plan, const hierarchy::Machine& machine, std::uint64_t stored_bytes);
  void add_op(const plan::Plan& plan, const plan::Op& op, const hierarchy::Machine& machine,
              std::uint64_t stored_bytes);
  /// Marks its region in `used`.
  void add_side(const plan::Slice& slice, std::vector<bool>* used);
  void add_edges(const plan::Plan& plan);
  void order_by_peer(const plan::Plan& plan);
  void match(plan::OpKind from, plan::OpKind to);

  std::vector<Op> ops_;  // and one more, which ends the last one's successors
  std::vector<Index> successors_;
  std::vector<Side> sides_;
  std::vector<RankSpan> ranks_;   // and one more
  std::vector<bool> is_read_;     // by region: by cores
  std::vector<bool> is_written_;  // by cores
  std::vector<bool> is_fetched_;  // by adapters
  // While plans are added.
  std::vector<Index> last_;             // by peer: the last op, or kNone
  std::vector<std::uint32_t> fan_out_;  // by op of the current plan
};

}  // namespace weft::sim
