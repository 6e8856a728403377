// Algorithms of all collectives, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithm/forms.hpp"
#include "hierarchy/local_blocks.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"
#include "registry/parameter_table.hpp"

namespace weft::registry {

using algorithm::Parameters;

/// Bytes that a plan needs beside the caller's buffers, at most.
struct Memory {
  std::uint64_t stage_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

/// A way to do a collective: a flat algorithm alone or a scheme, with parameters. A value.
class Algorithm {
 public:
  /// No algorithm: plan() and name() may not be called.
  Algorithm() = default;

  /// Reads "bruck", "chain:segment=8192", "sa:between=bruck,radix=4",
  /// "leader:leaders=sockets,inside=binomial". UsageError names the unknown part and lists the
  /// known ones.
  static Algorithm parse(plan::Collective collective, std::string_view text);

  /// Canonical: parse(collective(), name()) == *this; defaults are left out.
  std::string name() const;
  /// The name without parameters.
  std::string_view base_name() const { return is_flat() ? flat_->name : scheme_->name; }
  plan::Collective collective() const { return collective_; }
  /// All values: `between` and `inside` are not null where the algorithm reads them.
  const Parameters& parameters() const { return parameters_; }
  bool is_flat() const { return flat_ != nullptr; }
  /// True if the algorithm reads this parameter, so that it can be set.
  bool reads(algorithm::Parameter parameter) const { return read_set().has(parameter); }

  /// The plan of `rank`. Pure: the same arguments give the same plan, in every process. For an
  /// alltoallv it reads only the rows of ranks of `rank`'s node. UsageError where problem, machine
  /// and algorithm do not fit together, and where refusal() has a reason. Algorithms for alltoall
  /// are algorithms for alltoallv, and the reverse.
  plan::Plan plan(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;
  /// Alltoall and alltoallv: the same from the blocks that the node of `rank` knows.
  plan::Plan plan(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
                  int rank) const;

  /// The reason why plan() would refuse, if it would. It follows from facts that all ranks share.
  std::optional<std::string> refusal(const plan::Problem& problem,
                                     const hierarchy::Machine& machine) const;

  /// The same with all sizes among its parameters `to` / `from` times as large; segments are whole
  /// units of so many bytes.
  Algorithm in_proportion(std::uint64_t to, std::uint64_t from, std::uint64_t unit) const;

  /// Reductions: true if the operands stand in rank order, on machines that refusal() does not
  /// refuse.
  bool keeps_order() const;
  /// Reductions: true if operands are grouped alike on every placement of the ranks, as
  /// `deterministic` requires. Operations that are associative to the bit do not need it.
  bool groups_alike_everywhere() const { return is_flat(); }

  /// Alltoallv: true if the plan of a rank follows from its own rows alone, without those of its
  /// neighbours: blocks go straight, or lie in slots of fixed size (hierarchy::InsideNode).
  bool needs_own_rows_only(const hierarchy::Machine& machine) const;

  /// Alltoallv: a bound of the memory of every plan of `rank`, for all counts, in place or not: the
  /// memory for blocks of `aggregate` bytes that all need packing, or for all slots. nullopt where
  /// there is no bound: in schemes without `aggregate`, and where ranks pass on blocks of others
  /// without slots.
  std::optional<Memory> memory_bound(const hierarchy::Machine& machine, int rank) const;

  bool operator==(const Algorithm&) const = default;

 private:
  const algorithm::FlatForm& flat_form() const { return *flat_->find(collective_); }
  const algorithm::SchemeForm& scheme_form() const { return *scheme_->find(collective_); }
  /// What the scheme's step between nodes does; nullopt where it has none.
  std::optional<plan::Collective> step_collective() const;
  /// The flat algorithm itself, or the scheme's step between nodes; nullptr where it has none.
  const algorithm::FlatForm* flat_step() const;
  Steps steps() const;
  algorithm::ParameterSet read_set() const;
  std::string parameter_names() const;
  void set(std::string_view text, std::string_view key, std::string_view value);
  void check(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;
  std::optional<std::string> order_refusal(const plan::Problem& problem,
                                           const hierarchy::Machine& machine) const;

  plan::Collective collective_ = plan::Collective::alltoall;
  const algorithm::FlatAlgorithm* flat_ = nullptr;  // one of the two
  const algorithm::Scheme* scheme_ = nullptr;
  Parameters parameters_;
};

}  // namespace weft::registry
