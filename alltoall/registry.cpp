#include "alltoall/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "alltoall/algorithms.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "hierarchy/blocks.hpp"

namespace weft::alltoall {

namespace {

// The first is what schemes use between nodes unless told otherwise.
constexpr std::array kFlatAlgorithms = {
    FlatAlgorithm{"isend", "every block straight to its destination, all at once", false,
                  irecv_isend},
    FlatAlgorithm{"bruck", "few messages, blocks passed on; for small blocks", true, bruck},
    FlatAlgorithm{"pairwise-xor", "one partner at a time, rank XOR step", false, pairwise_xor},
    FlatAlgorithm{"pairwise-ring", "one partner each way at a time, around a ring", false,
                  pairwise_ring},
};

constexpr std::array kSchemes = {
    Scheme{"sa", "aggregate on the sending node, then one partner a node", false, true,
           send_aggregation},
    Scheme{"rd", "one partner a node, then distribute on the receiving node", false, true,
           receive_distribution},
    Scheme{"leader", "some ranks of a node exchange for all of it", true, true, leader},
};

constexpr std::int64_t kMostRanks = std::numeric_limits<int>::max();

/// The alltoall of all ranks as one exchange.
Exchange whole(const plan::Problem& problem, int rank) {
  Exchange exchange;
  exchange.members.resize(static_cast<std::size_t>(problem.ranks));
  std::iota(exchange.members.begin(), exchange.members.end(), 0);
  exchange.self = rank;
  exchange.bytes = [bytes = problem.block_bytes](int, int) { return bytes; };
  exchange.source = [&problem, rank](int to) -> std::vector<plan::Slice> {
    return {hierarchy::block(problem, plan::Space::input, rank, to)};
  };
  exchange.target = [&problem, rank](int from) -> std::vector<plan::Slice> {
    return {hierarchy::block(problem, plan::Space::output, rank, from)};
  };
  return exchange;
}

void check(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) {
  if (problem.collective != plan::Collective::alltoall) {
    throw_usage("alltoall asked for {}", to_string(problem.collective));
  }
  if (problem.ranks != machine.ranks()) {
    throw_usage("alltoall of {} ranks on a machine of {}: they must be equal", problem.ranks,
                machine.ranks());
  }
  if (rank < 0 || rank >= problem.ranks) {
    throw_usage("alltoall of {} ranks: rank {} is not from 0 to {}", problem.ranks, rank,
                problem.ranks - 1);
  }
  if (problem.stride < problem.block_bytes) {
    throw_usage("alltoall of blocks of {} bytes, {} apart: the distance must be at least the block",
                problem.block_bytes, problem.stride);
  }
}

}  // namespace

std::span<const FlatAlgorithm> flat_algorithms() {
  return kFlatAlgorithms;
}

std::span<const Scheme> schemes() {
  return kSchemes;
}

const FlatAlgorithm& step_between(const Parameters& parameters) {
  return parameters.between == nullptr ? kFlatAlgorithms.front() : *parameters.between;
}

plan::Plan Algorithm::plan(const plan::Problem& problem, const hierarchy::Machine& machine,
                           int rank) const {
  check(problem, machine, rank);
  plan::Builder builder(rank, problem.ranks, problem.input_bytes(rank), problem.output_bytes(rank));
  if (problem.block_bytes == 0) return std::move(builder).finish();
  if (flat_ != nullptr) {
    flat_->emit(builder, whole(problem, rank), parameters_);
  } else {
    scheme_->emit(builder, problem, machine, parameters_);
  }
  return std::move(builder).finish();
}

Algorithm Algorithm::parse(std::string_view text) {
  const NamedSettings chosen = parse_named_settings("algorithm", text);
  Algorithm result;
  result.flat_ = find_by_name(flat_algorithms(), chosen.name);
  result.scheme_ = find_by_name(schemes(), chosen.name);
  if (result.flat_ == nullptr && result.scheme_ == nullptr) {
    throw_usage("algorithm '{}': not one of {}, {}", chosen.name, names_of(flat_algorithms()),
                names_of(schemes()));
  }
  for (const auto& [key, value] : chosen.settings) result.set(text, key, value);
  if (chosen.has("radix") && !result.reads_radix()) {
    throw_usage("algorithm '{}': a radix is for bruck alone", text);
  }
  return result;
}

bool Algorithm::reads_radix() const {
  return flat_ != nullptr ? flat_->reads_radix : step_between(parameters_).reads_radix;
}

void Algorithm::set(std::string_view text, std::string_view key, std::string_view value) {
  const bool scheme = scheme_ != nullptr;
  const std::string what = fmt::format("algorithm '{}': {}", text, key);
  if (key == "radix" && (scheme || flat_->reads_radix)) {
    parameters_.radix = static_cast<int>(env::parse_integer(what, value, 2, kMostRanks));
  } else if (key == "leaders" && scheme && scheme_->reads_leaders) {
    parameters_.leaders = static_cast<int>(env::parse_integer(what, value, 1, kMostRanks));
  } else if (key == "direct" && scheme && scheme_->reads_direct) {
    parameters_.direct = env::parse_flag(what, value);
  } else if (key == "between" && scheme) {
    const FlatAlgorithm* step = find_by_name(flat_algorithms(), value);
    if (step == nullptr)
      throw_usage("{}={}: not one of {}", what, value, names_of(flat_algorithms()));
    // The default is kept as no choice, so that equal algorithms compare equal.
    parameters_.between = step == &kFlatAlgorithms.front() ? nullptr : step;
  } else {
    throw_usage("algorithm '{}': parameter '{}' is not one of its own ({})", text, key,
                parameter_names());
  }
}

std::string Algorithm::parameter_names() const {
  std::string list;
  if (flat_ != nullptr) return flat_->reads_radix ? "radix" : "it has none";
  if (scheme_->reads_leaders) append_to_list(list, "leaders");
  if (scheme_->reads_direct) append_to_list(list, "direct");
  append_to_list(list, "between");
  append_to_list(list, "radix with between=bruck");
  return list;
}

std::string Algorithm::name() const {
  const Parameters defaults;
  std::string settings;
  const auto add = [&](std::string_view key, const auto& value) {
    settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",", key, value);
  };
  if (parameters_.leaders != defaults.leaders) add("leaders", parameters_.leaders);
  if (parameters_.direct != defaults.direct) add("direct", 1);
  if (parameters_.between != defaults.between) add("between", parameters_.between->name);
  if (parameters_.radix != defaults.radix) add("radix", parameters_.radix);
  return std::string(flat_ != nullptr ? flat_->name : scheme_->name) + settings;
}

namespace {

/// 2, 3, 4, 8, as long as the one before did not already finish in one round.
std::vector<int> useful_radices(int ranks) {
  std::vector<int> radices = {2};
  for (const int radix : {3, 4, 8}) {
    if (radices.back() < ranks) radices.push_back(radix);
  }
  return radices;
}

}  // namespace

std::vector<Algorithm> variants(int ranks) {
  std::vector<std::string> flat;
  for (const FlatAlgorithm& algorithm : flat_algorithms()) {
    flat.emplace_back(algorithm.name);
    if (!algorithm.reads_radix) continue;
    for (const int radix : useful_radices(ranks)) {
      if (radix != Parameters().radix) {
        flat.push_back(fmt::format("{},radix={}", algorithm.name, radix));
      }
    }
  }
  std::vector<int> leaders = {1};
  for (const int count : {2, ranks}) {
    if (count > leaders.back() && count <= ranks) leaders.push_back(count);
  }
  std::vector<Algorithm> result;
  for (std::string step : flat) {
    std::ranges::replace(step, ',', ':');
    result.push_back(Algorithm::parse(step));
  }
  for (const Scheme& scheme : schemes()) {
    for (const int count : scheme.reads_leaders ? leaders : std::vector<int>{1}) {
      for (int direct = 0; direct <= (scheme.reads_direct ? 1 : 0); ++direct) {
        for (const std::string& step : flat) {
          std::string text = fmt::format("{}:between={},direct={}", scheme.name, step, direct);
          if (scheme.reads_leaders) text += fmt::format(",leaders={}", count);
          result.push_back(Algorithm::parse(text));
        }
      }
    }
  }
  return result;
}

}  // namespace weft::alltoall
