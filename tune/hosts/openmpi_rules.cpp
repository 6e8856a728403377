#include "tune/hosts/openmpi_rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace weft::tune::openmpi {

namespace {

using plan::Collective;

constexpr std::array kOpenmpiCollectives = {
    Collective::alltoall,       Collective::broadcast, Collective::allgather,
    Collective::barrier,        Collective::reduce,    Collective::allreduce,
    Collective::reduce_scatter, Collective::scan,      Collective::exscan};

/// Its number in coll_base_functions.h.
int identity(Collective collective) {
  static const std::map<Collective, int> numbers = {
      {Collective::allgather, 0}, {Collective::allreduce, 2},       {Collective::alltoall, 3},
      {Collective::barrier, 6},   {Collective::broadcast, 7},       {Collective::exscan, 8},
      {Collective::reduce, 11},   {Collective::reduce_scatter, 13}, {Collective::scan, 14}};
  return numbers.at(collective);
}

/// Rules of these go by the bytes of all blocks together.
bool counts_all_blocks(Collective collective) {
  return plan::has_blocks_of_all(collective);
}

/// A communicator size and its rules; none: by Open MPI's own.
std::string rules_of_size(int ranks, std::span<const HostRule> rules, std::uint64_t blocks) {
  std::string text = fmt::format("{}  # ranks and more\n", ranks);
  if (rules.empty()) return text + "1\n0 0 0 0\n";
  text += fmt::format("{}  # rules: from bytes on, algorithm, fan-out, segment\n", rules.size());
  std::uint64_t from = 0;
  for (const HostRule& rule : rules) {
    text += fmt::format("{} {} 0 {}  # {}\n", from, rule.number, rule.segment,
                        rule.algorithm.empty() ? "by its own rules" : rule.algorithm);
    from = (rule.up_to_bytes + 1) * blocks;
  }
  return text;
}

}  // namespace

std::span<const Collective> collectives() {
  return kOpenmpiCollectives;
}

bool is_segmented(Collective collective, std::string_view algorithm) {
  static const std::map<Collective, std::vector<std::string_view>> segmented = {
      {Collective::broadcast,
       {"chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial"}},
      {Collective::reduce, {"chain", "pipeline", "binary", "binomial", "in-order_binary"}},
      {Collective::allreduce, {"segmented_ring"}}};
  const auto found = segmented.find(collective);
  return found != segmented.end() &&
         std::ranges::find(found->second, algorithm) != found->second.end();
}

std::string rules_file(std::span<const HostRules> rules, int ranks, std::string_view about) {
  std::string text = fmt::format("# {}\n{}  # collectives\n", about, rules.size());
  for (const HostRules& one : rules) {
    const auto blocks = counts_all_blocks(one.collective) ? static_cast<std::uint64_t>(ranks) : 1;
    text += fmt::format("{}  # {}\n3  # sizes of communicators\n", identity(one.collective),
                        mpi_name(one.collective));
    text += rules_of_size(0, {}, blocks);
    text += rules_of_size(ranks, one.rules, blocks);
    text += rules_of_size(ranks + 1, {}, blocks);
  }
  return text;
}

}  // namespace weft::tune::openmpi
