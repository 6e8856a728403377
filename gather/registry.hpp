// Every algorithm for broadcast, scatter, gather, allgather and barrier, by name. The tables in
// tables.cpp are the only place that lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "gather/flat/fragments.hpp"
#include "gather/flat/meeting.hpp"
#include "hierarchy/groups.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::gather {

struct FlatAlgorithm;
struct InsideAlgorithm;

/// What can be set. An algorithm says which of these it reads; the others keep their defaults.
struct Parameters {
  int radix = 2;              ///< of binomial trees, Bruck and dissemination: 2 or more
  std::uint64_t segment = 0;  ///< bytes that are passed on while the next come; 0: all at once
  int leaders = 1;            ///< a node's ranks that talk to the network; see parse_leaders()
  const FlatAlgorithm* between = nullptr;   ///< hierarchical: the step between nodes
  const InsideAlgorithm* inside = nullptr;  ///< hierarchical: the step inside nodes

  bool operator==(const Parameters&) const = default;
};

/// A flat algorithm: adds its ops for one team, or for one meeting, to a plan under construction.
struct FlatAlgorithm {
  std::string_view name;
  std::string_view summary;
  bool reads_radix;
  bool reads_segment;
  Arrived (*move)(plan::Builder& builder, const Team& team, const Parameters& parameters);
  Ops (*meet)(plan::Builder& builder, const Meeting& meeting, const Parameters& parameters);
};

/// What is done among the ranks of a node: messages along a tree, or none.
struct InsideAlgorithm {
  std::string_view name;
  std::string_view summary;
  Topology topology;  // nullptr: `form`
  InsideForm form;
};

/// A hierarchical scheme: adds the whole collective to a plan under construction.
struct Scheme {
  std::string_view name;
  std::string_view summary;
  bool reads_leaders;
  bool reads_steps;    // between, inside, and what `between` reads
  bool reads_segment;  // even where `between` does not
  void (*emit)(plan::Builder& builder, const plan::Problem& problem,
               const hierarchy::Machine& machine, const Parameters& parameters);
  bool reads_form = false;  // inside, of those without a topology
};

/// The algorithms of one collective. The first flat one is what schemes use between nodes unless
/// told otherwise, and the first inside one likewise.
struct Table {
  std::span<const FlatAlgorithm> flat;
  std::span<const Scheme> schemes;
  std::span<const InsideAlgorithm> inside;
};

/// UsageError for a collective of another room.
const Table& table_of(plan::Collective collective);

/// One way to do a collective: a flat algorithm alone or a scheme, with parameters. A value.
class Algorithm {
 public:
  /// Reads "binomial", "chain:segment=8192", "leader:leaders=2,between=ring,inside=binomial",
  /// "leader:leaders=all", "leader:leaders=sockets". UsageError names what is unknown and lists
  /// what there is.
  static Algorithm parse(plan::Collective collective, std::string_view text);

  /// Canonical: parse(collective(), name()) == *this, defaults are left out.
  std::string name() const;
  plan::Collective collective() const { return collective_; }
  const Parameters& parameters() const { return parameters_; }
  bool is_flat() const { return flat_ != nullptr; }

  /// The plan of `rank`. Pure: the same arguments give the same plan, in every process.
  /// UsageError when problem, machine and algorithm do not go together.
  plan::Plan plan(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;

  bool operator==(const Algorithm&) const = default;

 private:
  void set(std::string_view text, const Setting& setting);
  bool reads(std::string_view key) const;
  std::string parameter_names() const;
  void check(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;

  plan::Collective collective_ = plan::Collective::broadcast;
  const FlatAlgorithm* flat_ = nullptr;  // exactly one of the two
  const Scheme* scheme_ = nullptr;
  Parameters parameters_;
};

/// Every flat algorithm (with radices that make a difference on `ranks` ranks, and with segments of
/// `segment_bytes`) and every scheme with 1, 2, all leaders, one a socket, and with each step
/// between and each step inside nodes: what `weft check` proves.
std::vector<Algorithm> variants(plan::Collective collective, int ranks,
                                std::uint64_t segment_bytes = 8192);

}  // namespace weft::gather
