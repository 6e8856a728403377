// Vector exchange: alltoallv. Each rank plans for itself, from its own row or those of its node.
//
// No rank knows the sizes on other nodes, so nothing is agreed upon from call to call. A rank's
// *row* is where the blocks lie that it sends to each rank, then those that it receives from each.
// The plan of the last call is used again where it is the plan that would be made anew. Why no
// stale plan is ever used: a plan is a function of the machine and the algorithm, which stay, and
// of
//
// - where the algorithm needs no other rows, the rank's own, and the ways that its blocks go: it is
//   kept as long as that is, byte for byte, the row of the last call, and these are as they were.
//   Other ranks do not enter, and where a pair's size changes it changes at both ends, as MPI has
//   both name it, and so does its way (BlockWays).
// - elsewhere the rows of all ranks of the node, which they tell one another where they have
//   none of the plans that were made for these rows before (NodePlans).
//
// Where a plan of the rank's own row moves each block as a whole, the program of the last call
// serves another row by other numbers (RowSteps), as long as all blocks go the ways that they have
// gone. On one node a block holds its way where its size goes up and down (BlockWays); there plans
// are made for rows whose sizes ask for these ways.
//
// Where slots may be faster the algorithm changes at calls at which all ranks agree (SlotSurvey);
// then all plan anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/irregular/block_ways.hpp"
#include "comm/irregular/node_plans.hpp"
#include "comm/irregular/row_steps.hpp"
#include "comm/irregular/slot_survey.hpp"
#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"
#include "hierarchy/local_blocks.hpp"
#include "registry/algorithm.hpp"

namespace weft::comm {

/// Made at the first alltoallv of a communicator.
class VectorExchange {
 public:
  /// What rank 0 tells of slots, as tune::SlotChoice.
  using Slots = std::function<std::string()>;

  /// By `asked`, limited so that stages hold what passes through them whatever the sizes are; or in
  /// slots now and then, if there are `slots`. `first`: the first call, whose buffers show whether
  /// large blocks would take system calls. Collective.
  VectorExchange(Resources& resources, const registry::Algorithm& asked,
                 const std::optional<Slots>& slots, const Task& first);

  const std::string& algorithm() const noexcept { return name_; }
  /// The most bytes of a block that goes in slots on one node; for calls whose long blocks would
  /// take system calls, if these come first.
  std::uint64_t most_in_slots() const noexcept { return algorithm_.parameters().aggregate; }
  static constexpr std::uint64_t kMostInSlotsForCalls = 256 << 10;
  /// The programs for the sizes of `task`. Collective on the node.
  const std::shared_ptr<Call>& call_for(const Task& task);
  /// Adds what the calls so far had for each rank.
  void add_sent(std::span<std::uint64_t> bytes) const;

 private:
  std::uint64_t most_aggregated(const Task& first);
  registry::Algorithm fitted(const registry::Algorithm& asked, const std::optional<Slots>& slots,
                             std::uint64_t most_bytes);
  void use(const registry::Algorithm& algorithm);
  void change_way();
  /// Of a row: to each rank, then from each.
  std::size_t blocks_of_row() const { return 2 * static_cast<std::size_t>(resources_.size()); }
  void count(bool changed);
  void add_sent_by_row(std::span<std::uint64_t> bytes) const;
  bool update_own_row(const Task& task);
  bool holds_ways() const noexcept { return in_slots_ && !in_place_; }
  hierarchy::LocalBlocks known_blocks(std::span<const plan::Block> row) const;
  plan::Plan make_plan();
  engine::Prepared prepare(const plan::Plan& plan);
  engine::Prepared prepare_first_call();
  engine::Prepared prepare_later_call();
  void find_steps();
  bool renumber_last();
  void make_call();
  void describe(const Task& task, Call& call) const;

  Resources& resources_;
  registry::Algorithm algorithm_;
  std::string name_;                                   // the algorithm's
  std::uint16_t posted_ = 0;                           // the same, in the rank's posting
  std::string told_;                                   // by rank 0 of slots
  std::unique_ptr<SlotSurvey> survey_;                 // null: never in slots
  std::map<std::size_t, registry::Algorithm> fitted_;  // by the survey's ways, those used so far
  std::vector<plan::Block> own_;                       // this rank's row in its last call
  std::uint64_t uses_ = 0;                             // calls with that row so far
  std::vector<std::uint64_t> sent_;                    // by rank: bytes of the calls before these
  bool in_place_ = false;                              // in the last call: the same on all ranks
  std::shared_ptr<Call> last_;
  std::vector<plan::Block> planned_;     // the row that its program was planned for
  RowSteps last_steps_;                  // of its program
  bool plans_by_node_ = false;           // whether the algorithm in use needs the node's rows
  bool in_slots_ = false;                // whether it puts each block into a slot of a stage
  BlockWays ways_{0, false};             // of own_, by the algorithm in use; none in place
  std::optional<NodePlans> node_plans_;  // once one did
};

}  // namespace weft::comm
