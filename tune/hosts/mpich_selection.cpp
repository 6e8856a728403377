#include "tune/hosts/mpich_selection.hpp"

#include <array>
#include <cctype>
#include <climits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::tune::mpich {

namespace {

using plan::Collective;
// MPICH takes the first key that holds: their order counts.
using Json = nlohmann::ordered_json;

constexpr std::array kMpichCollectives = {
    Collective::alltoall, Collective::broadcast, Collective::allgather,     Collective::barrier,
    Collective::reduce,   Collective::allreduce, Collective::reduce_scatter};

constexpr const char* kIntra = "comm_type=intra";

std::string key_of(Collective collective) {
  return fmt::format("collective={}", mpi_name(collective));
}

/// "MPIR_Bcast_intra_binomial". Those over nonblocking collectives are for all communicators.
std::string function_of(Collective collective, std::string_view algorithm) {
  std::string name(mpi_name(collective));
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  const char* kind = algorithm == "nb" ? "allcomm" : "intra";
  return fmt::format("MPIR_{}_{}_{}", name, kind, algorithm);
}

/// What is done for one rule. Algorithms that scatter a vector need an element for each rank, and
/// an operation of MPI's own.
Json leaf(Collective collective, const HostRule& rule, const Json& own) {
  if (rule.algorithm.empty()) return own;
  Json whole = {
      {fmt::format("algorithm={}", function_of(collective, rule.algorithm)), Json::object()}};
  if (!rule.algorithm.starts_with("reduce_scatter_")) return whole;
  return {{"is_op_built_in=no", own},
          {"is_op_built_in=yes", {{"count<pow2", own}, {"count=any", whole}}}};
}

Json by_size(const HostRules& rules, int ranks, const Json& own) {
  if (rules.rules.size() == 1) return leaf(rules.collective, rules.rules.front(), own);
  // As MPICH's own rules for these go.
  const bool is_total =
      rules.collective == Collective::allgather || rules.collective == Collective::reduce_scatter;
  const char* size = is_total ? "total_msg_size" : "avg_msg_size";
  Json tree = Json::object();
  for (const HostRule& rule : rules.rules) {
    const std::uint64_t blocks = is_total ? static_cast<std::uint64_t>(ranks) : 1;
    // MPICH reads an int.
    const bool is_last = rule.up_to_bytes > INT_MAX / blocks;
    const std::string key = is_last ? fmt::format("{}=any", size)
                                    : fmt::format("{}<={}", size, rule.up_to_bytes * blocks);
    tree[key] = leaf(rules.collective, rule, own);
    if (is_last) break;
  }
  return tree;
}

/// `tree` where every algorithm is right, and `own` elsewhere.
Json guarded(Collective collective, Json tree, const Json& own) {
  if (collective == Collective::alltoall) {
    return {{"is_sendbuf_inplace=yes", own}, {"is_sendbuf_inplace=no", std::move(tree)}};
  }
  if (plan::is_reduction(collective)) {
    return {{"is_commutative=yes", std::move(tree)}, {"is_commutative=no", own}};
  }
  return tree;
}

}  // namespace

std::span<const Collective> collectives() {
  return kMpichCollectives;
}

std::string own_selection(const std::string& library) {
  const std::string bytes = read_text_file(library, std::size_t{1} << 30, "MPICH's library");
  constexpr std::string_view kBegin = "{\"collective=";
  for (std::size_t at = bytes.find(kBegin); at != bytes.npos; at = bytes.find(kBegin, at + 1)) {
    std::string text = bytes.substr(at, bytes.find('\0', at) - at);
    const Json tree = Json::parse(text, nullptr, false);
    // Devices have selections of their own, whose functions begin otherwise.
    if (tree.is_object() && text.find("algorithm=MPIR_") != text.npos &&
        tree.contains(key_of(Collective::alltoall))) {
      return text;
    }
  }
  throw_usage("{}: has no selection of algorithms as MPICH 4.0 and later have it", library);
}

std::string selection_file(std::string_view own, std::span<const HostRules> rules, int ranks) {
  Json all = Json::parse(own);
  for (const HostRules& one : rules) {
    Json& at = all.at(key_of(one.collective)).at(kIntra);
    const Json before = at;
    Json tree = guarded(one.collective, by_size(one, ranks, before), before);
    at = {{fmt::format("comm_size<{}", ranks), before},
          {fmt::format("comm_size<={}", ranks), std::move(tree)},
          {"comm_size=any", before}};
  }
  return all.dump(1) + "\n";
}

}  // namespace weft::tune::mpich
