// Every algorithm of alltoall and alltoallv, by name. The table in registry.cpp is the only place
// that lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alltoall/flat/digits.hpp"
#include "alltoall/flat/exchange.hpp"
#include "hierarchy/groups.hpp"
#include "hierarchy/local_blocks.hpp"
#include "plan/plan.hpp"

namespace weft::alltoall {

struct FlatAlgorithm;

/// What can be set. An algorithm says which of these it reads; the others keep their defaults.
struct Parameters {
  static constexpr std::uint64_t kEverything = UINT64_MAX;

  int radix = 2;        ///< Bruck: 2 to the number of ranks or more
  int window = 0;       ///< isend: messages each way under way at once; 0: all
  int arity = 8;        ///< fat-tree: members under a switch, switches under the next
  int leaders = 1;      ///< leader: a node's ranks that talk to the network; see parse_leaders()
  int cores = 0;        ///< sa, rd: likewise; 0: all of them
  bool direct = false;  ///< inside a node, read peers' inputs where they lie instead of staging
  std::uint64_t aggregate = kEverything;   ///< schemes: larger blocks go straight to their ranks
  const FlatAlgorithm* between = nullptr;  ///< hierarchical: the step between nodes; default isend

  bool operator==(const Parameters&) const = default;
};

/// A bit for each parameter of flat algorithms and of schemes.
enum Reads : std::uint8_t {
  kReadsNothing = 0,
  kReadsRadix = 1,
  kReadsWindow = 2,
  kReadsArity = 4,
  kReadsLeaders = 8,
  kReadsCores = 16,
};

/// A flat algorithm: adds its ops for one exchange to a plan under construction.
struct FlatAlgorithm {
  std::string_view name;
  std::string_view summary;
  std::uint8_t reads;
  bool forwards;       ///< members pass on blocks of others, so they must know all sizes
  bool one_at_a_time;  ///< a member has one partner at a time
  Arrived (*emit)(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
  Digits (*order)(int members, const Parameters& parameters);  ///< of its partners, in place
};

/// A hierarchical scheme: adds the whole alltoall to a plan under construction.
struct Scheme {
  std::string_view name;
  std::string_view summary;
  std::uint8_t reads;  ///< beside direct, aggregate and between, which all do
  void (*emit)(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
               const hierarchy::Machine& machine, const Parameters& parameters);
};

std::span<const FlatAlgorithm> flat_algorithms();
std::span<const Scheme> schemes();

/// What a plan needs beside the caller's buffers, at most.
struct Memory {
  std::uint64_t stage_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

/// One way to do an alltoall or alltoallv: a flat algorithm alone or a scheme, with parameters. A
/// value.
class Algorithm {
 public:
  /// Reads "bruck", "bruck:radix=4", "sa", "sa:between=bruck,radix=4", "leader:leaders=sockets".
  /// UsageError names what is unknown and lists what there is.
  static Algorithm parse(std::string_view text);

  /// Canonical: parse(name()) == *this, defaults are left out.
  std::string name() const;
  const Parameters& parameters() const { return parameters_; }
  bool is_flat() const { return flat_ != nullptr; }

  /// The plan of `rank`. Pure: the same arguments give the same plan, in every process. Of an
  /// alltoallv it reads the rows of the ranks of `rank`'s node alone. UsageError when the problem
  /// and the machine have different numbers of ranks, and on what refusal() tells.
  plan::Plan plan(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) const;
  /// The same from what the node of `rank` knows.
  plan::Plan plan(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
                  int rank) const;

  /// Why it cannot do an alltoallv; nothing when it can, and for alltoall.
  std::optional<std::string> refusal(plan::Collective collective) const;
  std::optional<std::string> refusal(const plan::Problem& problem,
                                     const hierarchy::Machine&) const {
    return refusal(problem.collective);
  }

  /// Whether the plan of a rank in an alltoallv follows from its own rows alone, not from those of
  /// its neighbours: where blocks go straight, and where they lie in slots (hierarchy::InsideNode).
  bool needs_own_rows_only(const hierarchy::Machine& machine) const;

  /// What no plan of `rank` exceeds, whatever the counts of an alltoallv, in place or not: that of
  /// blocks of `aggregate` bytes that all need packing. Nothing where there is no such bound: in
  /// schemes without `aggregate`, and where blocks are passed on.
  std::optional<Memory> memory_bound(const hierarchy::Machine& machine, int rank) const;

  bool operator==(const Algorithm&) const = default;

 private:
  void set(std::string_view text, std::string_view key, std::string_view value);
  const FlatAlgorithm& flat_step() const;
  std::string parameter_names() const;

  const FlatAlgorithm* flat_ = nullptr;  // exactly one of the two
  const Scheme* scheme_ = nullptr;
  Parameters parameters_;
};

/// Every flat algorithm (Bruck with radix 2, 3, 4, 8 where that makes a difference on `ranks`
/// ranks, isend with windows, fat-tree of two arities) and every scheme with each of them between
/// nodes, with 1, 2 and all leaders or cores, or a leader a socket, direct and staged: what `weft
/// check` proves. Without those that refuse the collective.
std::vector<Algorithm> variants(int ranks,
                                plan::Collective collective = plan::Collective::alltoall);

}  // namespace weft::alltoall
