#include "alltoall/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "alltoall/algorithms.hpp"
#include "alltoall/flat/swap.hpp"
#include "alltoall/schemes/aggregation.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"

namespace weft::alltoall {

namespace {

Digits ring_order(int members, const Parameters&) {
  return Digits::ring(members);
}
Digits xor_order(int members, const Parameters&) {
  return Digits::tree(members, 2);
}
Digits tree_order(int members, const Parameters& parameters) {
  return Digits::tree(members, parameters.arity);
}

// The first is what schemes use between nodes unless told otherwise.
constexpr std::array kFlatAlgorithms = {
    FlatAlgorithm{"isend", "every block straight to its destination, all at once", kReadsWindow,
                  false, false, irecv_isend, ring_order},
    FlatAlgorithm{"bruck", "few messages, blocks passed on; for small blocks", kReadsRadix, true,
                  false, bruck, ring_order},
    FlatAlgorithm{"pairwise-xor", "one partner at a time, rank XOR step", kReadsNothing, false,
                  true, pairwise_xor, xor_order},
    FlatAlgorithm{"pairwise-ring", "one partner each way at a time, around a ring", kReadsNothing,
                  false, true, pairwise_ring, ring_order},
    FlatAlgorithm{"fat-tree", "one partner each way at a time, switch by switch", kReadsArity,
                  false, true, fat_tree, tree_order},
};

constexpr std::array kSchemes = {
    Scheme{"sa", "aggregate on the sending node, then one partner a node", kReadsCores,
           send_aggregation},
    Scheme{"rd", "one partner a node, then distribute on the receiving node", kReadsCores,
           receive_distribution},
    Scheme{"leader", "some ranks of a node exchange for all of it", kReadsLeaders, leader},
    Scheme{"two-step", "aggregate inside each socket, then on the node, then one partner a node",
           kReadsNothing, two_step},
};

constexpr std::int64_t kMostRanks = std::numeric_limits<int>::max();
/// The largest block whose bound is told.
constexpr std::uint64_t kLargestBound = std::uint64_t{1} << 32;

/// A parameter of one flat algorithm.
struct FlatSetting {
  std::string_view key;
  std::uint8_t reads;
  std::string_view reader;
  int Parameters::*value;
  int least;
};
constexpr std::array kFlatSettings = {
    FlatSetting{"radix", kReadsRadix, "bruck", &Parameters::radix, 2},
    FlatSetting{"window", kReadsWindow, "isend", &Parameters::window, 1},
    FlatSetting{"arity", kReadsArity, "fat-tree", &Parameters::arity, 2},
};

void check(const plan::Problem& problem, const hierarchy::Machine& machine, int rank) {
  if (!is_alltoall(problem.collective)) {
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
  return plan(hierarchy::LocalBlocks(problem, machine, machine.node_of(rank)), machine, rank);
}

plan::Plan Algorithm::plan(const hierarchy::LocalBlocks& blocks, const hierarchy::Machine& machine,
                           int rank) const {
  if (!blocks.constant_bytes()) {
    if (const auto why = refusal(plan::Collective::alltoallv)) throw_usage("{}", *why);
  }
  plan::Builder builder(rank, blocks.ranks(), blocks.input_bytes(rank), blocks.output_bytes(rank));
  if (blocks.constant_bytes() == 0) return std::move(builder).finish();
  if (flat_ != nullptr) {
    straight(builder, blocks, *flat_, parameters_, [](int, std::uint64_t) { return true; });
  } else {
    scheme_->emit(builder, blocks, machine, parameters_);
  }
  return std::move(builder).finish();
}

std::optional<std::string> Algorithm::refusal(plan::Collective collective) const {
  if (collective != plan::Collective::alltoallv || !flat_step().forwards) return std::nullopt;
  return fmt::format(
      "algorithm '{}': not for alltoallv, as {} passes on blocks of other ranks, "
      "whose sizes a rank does not know",
      name(), flat_step().name);
}

bool Algorithm::needs_own_rows_only(const hierarchy::Machine& machine) const {
  if (flat_ != nullptr) return true;
  return machine.nodes() == 1 && !parameters_.direct &&
         parameters_.aggregate != Parameters::kEverything;
}

std::optional<Memory> Algorithm::memory_bound(const hierarchy::Machine& machine, int rank) const {
  if (flat_step().forwards) return std::nullopt;
  if (flat_ != nullptr) return Memory{0, kSwapScratchBytes};
  if (parameters_.aggregate > kLargestBound) return std::nullopt;
  // All blocks as large as may be, in an order that leaves none beside the next: whatever may need
  // packing does.
  std::vector<plan::Block> row;
  for (int other = machine.ranks(); other-- > 0;) {
    row.push_back(
        {static_cast<std::uint64_t>(other) * parameters_.aggregate, parameters_.aggregate});
  }
  const int node = machine.node_of(rank);
  const hierarchy::LocalBlocks::Rows rows(machine.ranks_on(node).size(), row);
  const plan::Plan apart =
      plan(hierarchy::LocalBlocks(machine, node, rows, rows, false), machine, rank);
  const plan::Plan in_place =
      plan(hierarchy::LocalBlocks(machine, node, {}, rows, true), machine, rank);
  return Memory{std::max(apart.stage_bytes(), in_place.stage_bytes()),
                std::max(apart.scratch_bytes(), in_place.scratch_bytes()) + kSwapScratchBytes};
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
  for (const FlatSetting& setting : kFlatSettings) {
    if (chosen.has(setting.key) && (result.flat_step().reads & setting.reads) == 0) {
      throw_usage("algorithm '{}': {} is for {} alone", text, setting.key, setting.reader);
    }
  }
  return result;
}

const FlatAlgorithm& Algorithm::flat_step() const {
  return flat_ != nullptr ? *flat_ : step_between(parameters_);
}

void Algorithm::set(std::string_view text, std::string_view key, std::string_view value) {
  const bool scheme = scheme_ != nullptr;
  const std::string what = fmt::format("algorithm '{}': {}", text, key);
  for (const FlatSetting& setting : kFlatSettings) {
    if (key != setting.key || (!scheme && (flat_->reads & setting.reads) == 0)) continue;
    parameters_.*setting.value =
        static_cast<int>(env::parse_integer(what, value, setting.least, kMostRanks));
    return;
  }
  if (key == "leaders" && scheme && (scheme_->reads & kReadsLeaders) != 0) {
    parameters_.leaders = hierarchy::parse_leaders(what, value);
  } else if (key == "cores" && scheme && (scheme_->reads & kReadsCores) != 0) {
    parameters_.cores = static_cast<int>(env::parse_integer(what, value, 1, kMostRanks));
  } else if (key == "direct" && scheme) {
    parameters_.direct = env::parse_flag(what, value);
  } else if (key == "aggregate" && scheme) {
    parameters_.aggregate = env::parse_bytes(what, value, 0, kLargestBound);
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
  if (flat_ != nullptr) {
    for (const FlatSetting& setting : kFlatSettings) {
      if ((flat_->reads & setting.reads) != 0) append_to_list(list, setting.key);
    }
    return list.empty() ? "it has none" : list;
  }
  if ((scheme_->reads & kReadsLeaders) != 0) append_to_list(list, "leaders");
  if ((scheme_->reads & kReadsCores) != 0) append_to_list(list, "cores");
  for (const char* key : {"direct", "aggregate", "between"}) append_to_list(list, key);
  for (const FlatSetting& setting : kFlatSettings) {
    append_to_list(list, fmt::format("{} with between={}", setting.key, setting.reader));
  }
  return list;
}

std::string Algorithm::name() const {
  const Parameters defaults;
  std::string settings;
  const auto add = [&](std::string_view key, const auto& value) {
    settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",", key, value);
  };
  if (parameters_.leaders != defaults.leaders)
    add("leaders", hierarchy::leaders_text(parameters_.leaders));
  if (parameters_.cores != defaults.cores) add("cores", parameters_.cores);
  if (parameters_.direct != defaults.direct) add("direct", 1);
  if (parameters_.aggregate != defaults.aggregate) add("aggregate", parameters_.aggregate);
  if (parameters_.between != defaults.between) add("between", parameters_.between->name);
  for (const FlatSetting& setting : kFlatSettings) {
    if (parameters_.*setting.value != defaults.*setting.value) {
      add(setting.key, parameters_.*setting.value);
    }
  }
  return std::string(flat_ != nullptr ? flat_->name : scheme_->name) + settings;
}

}  // namespace weft::alltoall
