#include "tune/candidates.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "registry/all_algorithms.hpp"
#include "tune/fixed_rules.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

using algorithm::Parameter;
using plan::Collective;

namespace {

// From here on long data is cut into segments that follow one another.
constexpr std::uint64_t kPipelined = 64 << 10;
// From here on neighbours' buffers are read in place, where all ranks have to wait for one another
// anyway, and elsewhere where ranks share cores.
constexpr std::uint64_t kLoadedBytes = 2 << 10;
constexpr std::uint64_t kLoadedWhereCrowded = 16 << 10;
// From here on one copy takes less time than two through stages, of data that the reader still has
// in its caches even if a system call makes it, and of other data no more than in the host MPIs:
// two ranks with a core each (bench/README.md). A reduction to one rank needs twice as many; where
// all ranks get something from all, stages gain up to kLongBuffer.
constexpr std::uint64_t kLongForPair = 8 << 10;

/// A candidate with parameters, and the machines on which it is tried.
struct Extra {
  std::string_view text;
  int from_ranks = 0;  // of the widest node
  std::uint64_t from_bytes = 0;
  bool by_sockets = false;  // only where a node has several
};
constexpr Extra by_sockets(std::string_view text) {
  return {text, 0, 0, true};
}
/// Broadcasts of a part for each rank, and the least part of one of many ranks: shorter ones take
/// more messages than other broadcasts, and no less time for one; their plans take long to make.
constexpr std::string_view kByParts[] = {"scatter-ring", "scatter-doubling"};
constexpr std::uint64_t kLeastPart = 64;
/// A scheme that without sockets equals another one.
constexpr std::string_view kTwoStep = "two-step";

constexpr Extra kAlltoall[] = {
    {"bruck:radix=4"},
    {"factors:radix=8"},
    {"sa:between=bruck"},
    {"sa:between=factors"},
    {"rd:between=bruck"},
    {"leader:between=bruck"},
    {"leader:leaders=2", 3},
    {"leader:leaders=4", 5},
    {"sa:cores=2", 5},
    by_sockets("leader:leaders=sockets"),
    by_sockets("leader:leaders=sockets,between=bruck"),
    by_sockets("two-step:between=bruck"),
};
constexpr Extra kBroadcast[] = {
    {"binomial:radix=4"},
    {"leader:between=scatter-ring"},
    {"leader:leaders=all"},
    {"chain:segment=8192", 0, kPipelined},
    {"binary:segment=8192", 0, kPipelined},
    {"leader:segment=131072", 0, kPipelined},
    by_sockets("leader:leaders=sockets"),
};
constexpr Extra kOneToAll[] = {{"binomial:radix=4"},
                               {"leader:between=sequential"},
                               {"leader:leaders=all"},
                               by_sockets("leader:leaders=sockets")};
constexpr Extra kAllgather[] = {
    {"leader:between=bruck"},
    {"leader:between=doubling"},
    {"leader:leaders=all"},
    {"bruck:radix=4"},
    {"leader:leaders=all,between=bruck"},
    by_sockets("leader:leaders=sockets"),
};
constexpr Extra kBarrier[] = {{"dissemination:radix=4"}, {"leader:between=tournament"}};
constexpr Extra kReduce[] = {
    {"leader:leaders=all"},
    {"leader:between=halving-doubling"},
    {"leader:leaders=all,between=halving-doubling"},
    {"chain:segment=8192", 0, kPipelined},
    {"binary:segment=8192", 0, kPipelined},
    by_sockets("leader:leaders=sockets"),
};
constexpr Extra kAllreduce[] = {
    {"leader:leaders=all"},
    {"leader:between=halving-doubling"},
    {"leader:leaders=all,between=halving-doubling"},
    {"leader:leaders=all,between=ring"},
    {"neighbour-ring:segment=8192", 0, kPipelined},
    by_sockets("leader:leaders=sockets"),
    by_sockets("leader:leaders=sockets,between=halving-doubling"),
};
constexpr Extra kReduceScatter[] = {{"leader:leaders=all"},
                                    {"leader:leaders=all,between=pairwise"},
                                    by_sockets("leader:leaders=sockets")};
constexpr Extra kScan[] = {{"leader:between=chain"}, by_sockets("leader:leaders=sockets")};

std::span<const Extra> extras_of(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
      return kAlltoall;
    case Collective::broadcast:
      return kBroadcast;
    case Collective::scatter:
    case Collective::gather:
      return kOneToAll;
    case Collective::allgather:
      return kAllgather;
    case Collective::barrier:
      return kBarrier;
    case Collective::reduce:
      return kReduce;
    case Collective::allreduce:
      return kAllreduce;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::scan:
    case Collective::exscan:
      return kScan;
  }
  return {};
}

/// The parameter by which a scheme reads neighbours' buffers in place; empty where it cannot.
std::string_view direct_setting(Collective collective, std::string_view scheme) {
  const auto algorithm = Algorithm::parse(collective, scheme);
  if (algorithm.reads(Parameter::direct)) return "direct=1";
  const bool moves_inside =
      algorithm.reads(Parameter::between) && algorithm.reads(Parameter::inside);
  return moves_inside && collective != Collective::barrier ? "inside=direct" : "";
}

/// Of the least buffer that a neighbour reads.
std::uint64_t buffer_bytes(const plan::Problem& problem) {
  const bool has_block_of_each =
      is_alltoall(problem.collective) || problem.collective == Collective::reduce_scatter;
  const auto blocks = has_block_of_each ? static_cast<std::uint64_t>(problem.ranks) : 1;
  return blocks * block_bytes(problem);
}

/// Bytes of a buffer from which most buffers are in a heap that nobody asked for, or are read by
/// calls at no loss.
std::uint64_t long_buffer(const plan::Problem& problem, const Facts& facts) {
  const bool is_pair = facts.machine.nodes() == 1 && problem.ranks == 2 && !facts.crowded;
  switch (problem.collective) {
    case Collective::broadcast:
    case Collective::scatter:
    case Collective::gather:
    case Collective::allgather:
      return is_pair ? kLongForPair : kLongBuffer;
    case Collective::reduce:
      return is_pair ? 2 * kLongForPair : kLongBuffer;
    default:
      return kLongBuffer;
  }
}

}  // namespace

std::uint64_t block_bytes(const plan::Problem& problem) {
  std::uint64_t all = 0;
  std::size_t blocks = 0;
  const auto add = [&](std::span<const plan::Block> row) {
    for (const plan::Block& block : row) all += block.bytes;
    blocks += row.size();
  };
  add(problem.layout);
  for (const auto& row : problem.receives) add(row);
  return blocks == 0 ? problem.block_bytes : all / blocks;
}

bool may_pay_by_calls(const plan::Problem& problem, const hierarchy::Machine& machine) {
  return machine.nodes() == 1 && problem.collective == Collective::alltoall &&
         block_bytes(problem) >= kLongForCalls;
}

bool reads_in_place(const plan::Problem& problem, const Facts& facts) {
  if (facts.direct == Direct::calls) return may_pay_by_calls(problem, facts.machine);
  if (facts.direct == Direct::none) return false;
  const bool only_long = facts.direct == Direct::loads_of_long;
  if (only_long && buffer_bytes(problem) < long_buffer(problem, facts)) return false;
  // In these collectives some rank needs the data of all ranks, so all must have run first.
  const bool waits_anyway = is_alltoall(problem.collective) ||
                            problem.collective == Collective::reduce ||
                            problem.collective == Collective::allreduce;
  const bool early = waits_anyway || !facts.crowded;
  return block_bytes(problem) >= (early ? kLoadedBytes : kLoadedWhereCrowded);
}

std::vector<Algorithm> candidates(const plan::Problem& problem, const Facts& facts) {
  if (auto only = deterministic_choice(problem, facts)) return {*only};
  const Collective collective = problem.collective;
  const std::uint64_t bytes = block_bytes(problem);
  // With one rank a node, or one node, schemes have nothing to do.
  const bool flat_machine = facts.machine.widest() == 1;
  const bool in_place = reads_in_place(problem, facts);
  std::vector<Algorithm> list;
  const auto add = [&](std::string_view text, bool scheme) {
    if (scheme && flat_machine) return;
    std::string whole(text);
    if (scheme && in_place) {
      const auto setting = direct_setting(collective, text.substr(0, text.find(':')));
      if (!setting.empty()) whole += (whole.find(':') == whole.npos ? ":" : ",");
      whole += setting;
    }
    Algorithm algorithm = Algorithm::parse(collective, whole);
    const auto same = [&](const Algorithm& other) { return other.name() == algorithm.name(); };
    if (std::ranges::any_of(list, same) || !may_run(algorithm, problem, facts)) return;
    // What slots gain depends on the blocks of all pairs, which no rank knows.
    if (algorithm.reads(Parameter::slot)) return;
    list.push_back(algorithm);
  };
  const bool has_parts = problem.ranks <= ChoiceOptions::kMostRanksWhole ||
                         bytes >= kLeastPart * static_cast<std::uint64_t>(problem.ranks);
  for (const auto* one : registry::flat_algorithms(collective)) {
    if (has_parts || std::ranges::find(kByParts, one->name) == std::end(kByParts)) {
      add(one->name, false);
    }
  }
  for (const auto* one : registry::schemes(collective)) {
    if (one->name != kTwoStep || facts.machine.has_domains()) add(one->name, true);
  }
  for (const Extra& extra : extras_of(collective)) {
    if (facts.machine.widest() < extra.from_ranks || bytes < extra.from_bytes) continue;
    if (extra.by_sockets && !facts.machine.has_domains()) continue;
    add(extra.text, !Algorithm::parse(collective, extra.text).is_flat());
  }
  return list;
}

}  // namespace weft::tune
