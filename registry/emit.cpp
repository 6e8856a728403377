// Plans of algorithms: emitted by the functions of their rows, or refused.
#include <algorithm>
#include <numeric>

#include "alltoall/flat/slots.hpp"
#include "alltoall/flat/straight.hpp"
#include "alltoall/flat/swap.hpp"
#include "base/error.hpp"
#include "gather/flat/barriers.hpp"
#include "gather/flat/team_of_all.hpp"
#include "gather/flat/team_segments.hpp"
#include "reduce/flat/reduction_of_all.hpp"
#include "reduce/schemes/nodes_and_leaders.hpp"
#include "registry/algorithm.hpp"

namespace weft::registry {

using algorithm::BarrierGroup;
using algorithm::Ledger;
using hierarchy::LocalBlocks;
using hierarchy::Machine;
using plan::Collective;
using plan::Problem;

namespace {

bool is_prefix(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

/// UsageError unless blocks are whole elements.
void check_elements(const Problem& problem) {
  const auto is_whole = [&](const plan::Block& block) {
    return block.offset % problem.element_bytes == 0 && block.bytes % problem.element_bytes == 0;
  };
  if (problem.element_bytes == 0 || problem.block_bytes % problem.element_bytes != 0 ||
      problem.stride % problem.element_bytes != 0 ||
      !std::ranges::all_of(problem.layout, is_whole)) {
    throw_usage(
        "{} of blocks of {} bytes, {} apart, of elements of {}: blocks must be of whole "
        "elements",
        to_string(problem.collective), problem.block_bytes, problem.stride, problem.element_bytes);
  }
}

/// The barrier of all ranks.
BarrierGroup group_of_all(const Machine& machine, int rank) {
  BarrierGroup group;
  group.members.resize(static_cast<std::size_t>(machine.ranks()));
  std::iota(group.members.begin(), group.members.end(), 0);
  group.self = rank;
  group.near = [&machine, rank](int member) { return machine.same_node(member, rank); };
  return group;
}

}  // namespace

void Algorithm::check(const Problem& problem, const Machine& machine, int rank) const {
  const std::string_view name = to_string(problem.collective);
  const bool both_alltoall = is_alltoall(problem.collective) && is_alltoall(collective_);
  if (problem.collective != collective_ && !both_alltoall) {
    throw_usage("an algorithm for {} asked for {}", to_string(collective_), name);
  }
  if (problem.ranks != machine.ranks()) {
    throw_usage("{} of {} ranks on a machine of {}: they must be equal", name, problem.ranks,
                machine.ranks());
  }
  if (rank < 0 || rank >= problem.ranks) {
    throw_usage("{} of {} ranks: rank {} is not from 0 to {}", name, problem.ranks, rank,
                problem.ranks - 1);
  }
  if (is_rooted(collective_) && (problem.root < 0 || problem.root >= problem.ranks)) {
    throw_usage("{} of {} ranks: root {} is not from 0 to {}", name, problem.ranks, problem.root,
                problem.ranks - 1);
  }
  if (!is_reduction(collective_) && problem.stride < problem.block_bytes) {
    throw_usage("{} of blocks of {} bytes, {} apart: the distance must be at least the block", name,
                problem.block_bytes, problem.stride);
  }
  if (!problem.layout.empty() && problem.layout.size() != static_cast<std::size_t>(problem.ranks)) {
    throw_usage("{} of {} ranks with a layout of {} blocks: they must be equal", name,
                problem.ranks, problem.layout.size());
  }
  if (is_reduction(collective_)) check_elements(problem);
}

std::optional<std::string> Algorithm::refusal(const Problem& problem,
                                              const Machine& machine) const {
  if (problem.collective == Collective::alltoallv && flat_step()->forwards &&
      !flat_step()->in_slots) {
    return fmt::format(
        "algorithm '{}': not for alltoallv, as {} passes on blocks of other ranks, whose sizes a "
        "rank does not know",
        name(), is_flat() ? flat_->name : parameters_.between->name);
  }
  if (!is_reduction(collective_)) return std::nullopt;
  if (auto why = order_refusal(problem, machine)) return why;
  if (is_flat()) return std::nullopt;
  if (scheme_form().one_node && machine.nodes() > 1) {
    return fmt::format("{} {} is for ranks of one node, not for {}", to_string(collective_), name(),
                       to_string(machine));
  }
  if (scheme_form().needs_associative && !problem.associative) {
    return fmt::format(
        "{} {} groups the operands otherwise on each node, and the operation is not associative "
        "to the bit",
        to_string(collective_), name());
  }
  return std::nullopt;
}

/// The reason to refuse a reduction that needs the order of the ranks, where it is not kept.
std::optional<std::string> Algorithm::order_refusal(const Problem& problem,
                                                    const Machine& machine) const {
  if (problem.commutative && !is_prefix(collective_)) return std::nullopt;
  if (!keeps_order()) {
    return fmt::format(
        "{} {} does not keep the order of the ranks, and the operation does not commute",
        to_string(collective_), name());
  }
  if (!is_flat() && !reduce::Nodes(machine, 0).are_runs()) {
    return fmt::format(
        "{} {} keeps the order of the ranks only where those of each node follow one another, not "
        "on {}",
        to_string(collective_), name(), to_string(machine));
  }
  return std::nullopt;
}

plan::Plan Algorithm::plan(const Problem& problem, const Machine& machine, int rank) const {
  check(problem, machine, rank);
  if (is_alltoall(collective_)) {
    return plan(LocalBlocks(problem, machine, machine.node_of(rank)), machine, rank);
  }
  if (const auto why = refusal(problem, machine)) throw_usage("{}", *why);
  plan::Builder builder(rank, problem.ranks, problem.input_bytes(rank), problem.output_bytes(rank));
  if (is_reduction(collective_)) {
    if (reduce::vector_bytes(problem) > 0) {
      Ledger ledger(builder);
      if (is_flat()) {
        const auto all = reduce::reduction_of_all(ledger, problem, flat_form().takes_any_blocks);
        std::get<algorithm::EmitReduction>(flat_form().emit)(ledger, all, parameters_);
      } else {
        const auto emit = std::get<algorithm::EmitVectors>(scheme_form().emit);
        emit(ledger, problem, machine, parameters_);
      }
    }
  } else if (!is_flat()) {
    std::get<algorithm::EmitProblem>(scheme_form().emit)(builder, problem, machine, parameters_);
  } else if (collective_ == Collective::barrier) {
    const auto emit = std::get<algorithm::EmitBarrier>(flat_form().emit);
    const algorithm::BarrierGroup all = group_of_all(machine, rank);
    const auto all_are_here = emit(builder, all, parameters_);
    if (problem.leaving == plan::Leaving::root_last) {
      gather::leave_last(builder, all, problem.root, all_are_here);
    }
  } else {
    gather::emit_on_team(builder, gather::team_of_all(problem, rank), flat_form(), parameters_);
  }
  return std::move(builder).finish();
}

plan::Plan Algorithm::plan(const LocalBlocks& blocks, const Machine& machine, int rank) const {
  if (!is_alltoall(collective_)) {
    throw_usage("an algorithm for {} asked for alltoall", to_string(collective_));
  }
  if (!blocks.constant_bytes()) {
    Problem problem = Problem::alltoall(blocks.ranks(), 0);
    problem.collective = Collective::alltoallv;
    if (const auto why = refusal(problem, machine)) throw_usage("{}", *why);
  }
  plan::Builder builder(rank, blocks.ranks(), blocks.input_bytes(rank), blocks.output_bytes(rank));
  if (blocks.constant_bytes() == 0) return std::move(builder).finish();
  if (is_flat() && flat_form().in_slots && !blocks.constant_bytes()) {
    alltoall::exchange_in_slots(builder, blocks, flat_form(), parameters_);
  } else if (is_flat()) {
    const auto all = [](int, std::uint64_t) { return true; };
    alltoall::straight(builder, blocks, flat_form(), parameters_, all);
  } else {
    std::get<algorithm::EmitBlocks>(scheme_form().emit)(builder, blocks, machine, parameters_);
  }
  return std::move(builder).finish();
}

bool Algorithm::needs_own_rows_only(const Machine& machine) const {
  if (is_flat()) return true;
  return (machine.nodes() == 1 || flat_step()->in_slots) && !parameters_.direct &&
         parameters_.aggregate != Parameters::kEverything;
}

std::optional<Memory> Algorithm::memory_bound(const Machine& machine, int rank) const {
  if (is_flat() && flat_form().in_slots) {
    return Memory{0, alltoall::slots_scratch_bytes(machine.ranks(), parameters_) +
                         alltoall::kSwapScratchBytes};
  }
  if (flat_step()->forwards && !flat_step()->in_slots) return std::nullopt;
  if (is_flat()) return Memory{0, alltoall::kSwapScratchBytes};
  if (parameters_.aggregate == Parameters::kEverything) return std::nullopt;
  // The largest blocks, in an order in which no two neighbours are contiguous: all need packing.
  std::vector<plan::Block> row;
  for (int other = machine.ranks(); other-- > 0;) {
    row.push_back(
        {static_cast<std::uint64_t>(other) * parameters_.aggregate, parameters_.aggregate});
  }
  const int node = machine.node_of(rank);
  const LocalBlocks::Rows rows(machine.ranks_on(node).size(), row);
  const plan::Plan apart = plan(LocalBlocks(machine, node, rows, rows, false), machine, rank);
  const plan::Plan in_place = plan(LocalBlocks(machine, node, {}, rows, true), machine, rank);
  return Memory{
      std::max(apart.stage_bytes(), in_place.stage_bytes()),
      std::max(apart.scratch_bytes(), in_place.scratch_bytes()) + alltoall::kSwapScratchBytes};
}

}  // namespace weft::registry
