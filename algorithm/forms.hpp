// Rows of the registry: flat algorithms and hierarchical schemes, each with a form for every
// collective that it serves.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "algorithm/barrier_group.hpp"
#include "algorithm/exchange.hpp"
#include "algorithm/inside_step.hpp"
#include "algorithm/ledger.hpp"
#include "algorithm/parameters.hpp"
#include "algorithm/reduction.hpp"
#include "algorithm/team.hpp"
#include "hierarchy/local_blocks.hpp"
#include "hierarchy/machine.hpp"
#include "plan/builder.hpp"
#include "plan/problem.hpp"

namespace weft::algorithm {

/// Functions of flat algorithms: each adds the ops of one rank to a plan under construction. Pure:
/// the same arguments give the same ops in every process.
///
/// An exchange; returns the ops after which all blocks are in their targets.
using EmitExchange = Ops (*)(plan::Builder& builder, const Exchange& exchange,
                             const Parameters& parameters);
/// A team; returns what Arrived says.
using EmitTeam = Arrived (*)(plan::Builder& builder, const Team& team,
                             const Parameters& parameters);
/// A barrier; returns the ops after which all members have come.
using EmitBarrier = Ops (*)(plan::Builder& builder, const BarrierGroup& group,
                            const Parameters& parameters);
using EmitReduction = void (*)(Ledger& ledger, const Reduction& reduction,
                               const Parameters& parameters);
/// An exchange among all ranks in place: swaps block(peer) with that peer's own for this rank.
using EmitSwaps = void (*)(plan::Builder& builder, int ranks,
                           const std::function<plan::Slice(int peer)>& block,
                           const Parameters& parameters);

/// How a flat algorithm does one collective.
struct FlatForm {
  plan::Collective collective;  ///< alltoall stands for alltoallv too, where that has none
  ParameterSet reads;
  std::variant<EmitExchange, EmitTeam, EmitBarrier, EmitReduction> emit;
  EmitSwaps swap = nullptr;       ///< alltoall, unless it forwards
  bool forwards = false;          ///< alltoall: passes on blocks of others, so needs all sizes
  bool in_slots = false;          ///< alltoallv: small blocks in slots of one size, known to all
  bool keeps_order = true;        ///< reductions: of the ranks, so the operation need not commute
  bool takes_any_blocks = false;  ///< reduce_scatter: also with gaps, and in any order
};

/// Functions of schemes: each adds the ops of one rank for the whole collective.
using EmitBlocks = void (*)(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                            const hierarchy::Machine& machine, const Parameters& parameters);
using EmitProblem = void (*)(plan::Builder& builder, const plan::Problem& problem,
                             const hierarchy::Machine& machine, const Parameters& parameters);
using EmitVectors = void (*)(Ledger& ledger, const plan::Problem& problem,
                             const hierarchy::Machine& machine, const Parameters& parameters);

/// How a hierarchical scheme does one collective.
struct SchemeForm {
  plan::Collective collective;  ///< alltoall stands for alltoallv too
  ParameterSet reads;           ///< without `between` and `inside`, which follow from the next two
  std::variant<EmitBlocks, EmitProblem, EmitVectors> emit;
  std::optional<plan::Collective> between = {};  ///< what its step between nodes does
  std::span<const InsideStep> inside = {};       ///< its steps inside nodes; the first by default
  bool keeps_order = true;  ///< reductions: where nodes are runs of ranks, and `between` does
  bool needs_associative = false;  ///< reductions: groups the operands otherwise on each node
  bool one_node = false;           ///< is for machines of one node alone
};

/// A name and the forms that have it, at most one for each collective.
template <class Form>
struct Row {
  static constexpr std::size_t kMostForms = 11;

  constexpr Row(std::string_view its_name, std::string_view its_summary,
                std::initializer_list<Form> its_forms)
      : name(its_name), summary(its_summary), count(its_forms.size()) {
    std::size_t i = 0;
    for (const Form& form : its_forms) slots[i++] = form;
  }

  constexpr std::span<const Form> forms() const { return std::span(slots).first(count); }
  /// The form for a collective; nullptr where there is none.
  constexpr const Form* find(plan::Collective collective) const {
    for (const Form& form : forms()) {
      if (form.collective == collective) return &form;
    }
    return collective == plan::Collective::alltoallv ? find(plan::Collective::alltoall) : nullptr;
  }

  std::string_view name;
  std::string_view summary;
  std::array<Form, kMostForms> slots = {};
  std::size_t count;
};

struct FlatAlgorithm : Row<FlatForm> {
  using Row::Row;
};

/// The function by which an algorithm does a collective. It must have a form for it.
template <class Emit>
Emit emit_of(const FlatAlgorithm& algorithm, plan::Collective collective) {
  return std::get<Emit>(algorithm.find(collective)->emit);
}

struct Scheme : Row<SchemeForm> {
  using Row::Row;
};

}  // namespace weft::algorithm
