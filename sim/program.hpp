// Program: the ops of all ranks' plans in a compact form, sends matched with recvs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "sim/members.hpp"

namespace weft::sim {

/// Makes the plan of a rank. Where all ranks are simulated it is called once for each, in ascending
/// order, and a plan is destroyed before the next is made.
using PlanSource = std::function<plan::Plan(int rank)>;

/// An op, by its number among those of all members: member 0's first, each one's in list order.
using Index = std::uint32_t;
inline constexpr Index kNone = UINT32_MAX;

/// The memory that one side of an op touches, from its first byte to its last.
struct Side {
  std::uint32_t region = kNone;  // see region_of()
  std::uint32_t blocks : 31 = 1;
  std::uint32_t is_neighbours : 1 = 0;  // of another rank, and no stage
  std::uint64_t offset = 0;
  std::uint64_t extent = 0;  // bytes, the gaps between blocks included
};

/// `owner` is a member.
inline std::uint32_t region_of(plan::Space space, int owner) {
  return 4 * static_cast<std::uint32_t>(owner) + static_cast<std::uint32_t>(space);
}

/// The member that owns the memory, and its space.
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
  std::int32_t member = 0;            // that does it
  Index partner = kNone;              // the op at the other end; see Program::listeners()
  Index next = kNone;                 // may start after this one: list order towards one peer
  std::uint32_t pending = 0;          // ops that it still waits for
  std::uint32_t first_successor = 0;  // they end where those of the next op begin
  std::uint32_t first_side = 0;       // copy, reduce: dst, src; send, recv: their own
  Index link = kNone;                 // the next in its queue
  std::uint64_t bytes = 0;            // of the message, copy or reduction
  std::uint64_t left = 0;             // send: those still to be handed to the adapter
  std::int64_t time = 0;              // when its core left it; before that, its earliest post
};
static_assert(sizeof(Op) <= 64);

/// Where the message or signal that a recv or wait of a member is for comes from.
struct Source {
  int member = -1;
  plan::OpId op = 0;  // of its plan
};

/// Summary of a member's plan.
struct RankSpan {
  Index first_op = 0;
  std::uint64_t footprint = 0;  // bytes of all spaces
};

/// Plans that are made already: those of members, each of which stands for a class of ranks.
struct ClassPlans {
  std::vector<plan::Plan> plans;             // by member
  std::vector<std::vector<Source>> sources;  // by member: of its recvs and waits, in list order
  /// The member that stands for `rank`, of the node of `member`.
  std::function<int(int member, int rank)> neighbour;
};

/// The plans of all members, matched.
class Program {
 public:
  /// UsageError where plans do not fit together: a send without its recv, or of another size;
  /// another rank or number of ranks; signals between nodes. Sends to other nodes of up to
  /// `stored_bytes` are read by the core.
  Program(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
          std::uint64_t stored_bytes);
  /// Of members that stand for classes.
  Program(const ClassPlans& classes, const Members& members, const hierarchy::Machine& machine,
          std::uint64_t stored_bytes);

  std::vector<Op>& ops() { return ops_; }
  std::span<const Index> successors(Index op) const {
    return std::span(successors_)
        .subspan(ops_[op].first_successor, ops_[op + 1].first_successor - ops_[op].first_successor);
  }
  /// The ops for which the message, signal, question or answer of `op` is. Where all ranks are
  /// members it is the partner alone. Else several recvs of members may be of one send's class, or
  /// none: each has the send as its partner, and a send has the first of its recvs, if any.
  std::span<const Index> listeners(Index op) const {
    if (first_listener_.empty()) return {&ops_[op].partner, 1};
    return std::span(listeners_)
        .subspan(first_listener_[op], first_listener_[op + 1] - first_listener_[op]);
  }
  const Side& side(const Op& op, int which) const { return sides_[op.first_side + which]; }
  int members() const { return static_cast<int>(ranks_.size()) - 1; }
  Index first_op(int member) const { return ranks_[member].first_op; }
  Index op_count() const { return static_cast<Index>(ops_.size() - 1); }
  std::uint64_t footprint(int member) const { return ranks_[member].footprint; }
  /// Whether the cache model must track that memory: cores read it, or write what adapters fetch.
  bool is_tracked(std::uint32_t region) const {
    return is_read_[region] || (is_written_[region] && is_fetched_[region]);
  }

  std::uint64_t messages = 0;  // between nodes, of the members
  std::uint64_t wire_bytes = 0;

 private:
  /// The member that stands for the owner of a slice.
  using Owner = std::function<int(int rank)>;

  void add(int member, const plan::Plan& plan, const hierarchy::Machine& machine,
           std::uint64_t stored_bytes, const Owner& owner = nullptr);
  void add_op(const plan::Plan& plan, const plan::Op& op, const hierarchy::Machine& machine,
              std::uint64_t stored_bytes, const Owner& owner);
  /// Marks its region in `used`.
  void add_side(int rank, const plan::Slice& slice, std::vector<bool>* used, const Owner& owner);
  void add_edges(int member, const plan::Plan& plan);
  void order_by_peer(int member, const plan::Plan& plan);
  void end_ops();
  void match(plan::OpKind from, plan::OpKind to);
  void link(const ClassPlans& classes);

  std::vector<Op> ops_;  // and one more, which ends the last one's successors
  std::vector<Index> successors_;
  std::vector<Side> sides_;
  std::vector<RankSpan> ranks_;                // by member, and one more
  std::vector<Index> listeners_;               // by class only
  std::vector<std::uint32_t> first_listener_;  // by op, and one more
  std::vector<bool> is_read_;                  // by region: by cores
  std::vector<bool> is_written_;               // by cores
  std::vector<bool> is_fetched_;               // by adapters
  // While plans are added.
  std::vector<Index> last_;             // by peer: the last op, or kNone
  std::vector<std::uint32_t> fan_out_;  // by op of the current plan
};

}  // namespace weft::sim
