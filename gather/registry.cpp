#include "gather/registry.hpp"

#include <numeric>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "gather/schemes/steps.hpp"
#include "gather/whole.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;
using plan::Problem;

namespace {

constexpr std::int64_t kMostRanks = std::numeric_limits<int>::max();

template <class Table>
auto* find_or_refuse(const Table& table, std::string_view what, std::string_view value) {
  const auto* found = find_by_name(table, value);
  if (found == nullptr) throw_usage("{}={}: not one of {}", what, value, names_of(table));
  return found;
}

/// The barrier of all ranks.
Meeting whole_meeting(const Machine& machine, int rank) {
  Meeting meeting;
  meeting.members.resize(static_cast<std::size_t>(machine.ranks()));
  std::iota(meeting.members.begin(), meeting.members.end(), 0);
  meeting.self = rank;
  meeting.near = [&machine, rank](int member) { return machine.same_node(member, rank); };
  return meeting;
}

}  // namespace

void Algorithm::check(const Problem& problem, const Machine& machine, int rank) const {
  const std::string_view name = to_string(collective_);
  if (problem.collective != collective_) {
    throw_usage("an algorithm for {} asked for {}", name, to_string(problem.collective));
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
  if (problem.stride < problem.block_bytes) {
    throw_usage("{} of blocks of {} bytes, {} apart: the distance must be at least the block", name,
                problem.block_bytes, problem.stride);
  }
  if (!problem.layout.empty() && problem.layout.size() != static_cast<std::size_t>(problem.ranks)) {
    throw_usage("{} of {} ranks with a layout of {} blocks: they must be equal", name,
                problem.ranks, problem.layout.size());
  }
}

plan::Plan Algorithm::plan(const Problem& problem, const Machine& machine, int rank) const {
  check(problem, machine, rank);
  plan::Builder builder(rank, problem.ranks, problem.input_bytes(rank), problem.output_bytes(rank));
  if (scheme_ != nullptr) {
    scheme_->emit(builder, problem, machine, parameters_);
  } else if (collective_ == Collective::barrier) {
    flat_->meet(builder, whole_meeting(machine, rank), parameters_);
  } else {
    move(builder, whole(problem, rank), *flat_, parameters_);
  }
  return std::move(builder).finish();
}

Algorithm Algorithm::parse(Collective collective, std::string_view text) {
  const Table& table = table_of(collective);
  const NamedSettings chosen = parse_named_settings("algorithm", text);
  Algorithm result;
  result.collective_ = collective;
  result.flat_ = find_by_name(table.flat, chosen.name);
  result.scheme_ = find_by_name(table.schemes, chosen.name);
  if (result.flat_ == nullptr && result.scheme_ == nullptr) {
    throw_usage("algorithm '{}': not one of {}, {}", chosen.name, names_of(table.flat),
                names_of(table.schemes));
  }
  // The step between nodes first: it says what else can be set.
  for (const bool between : {true, false}) {
    for (const Setting& setting : chosen.settings) {
      if ((setting.key == "between") == between) result.set(text, setting);
    }
  }
  return result;
}

bool Algorithm::reads(std::string_view key) const {
  const bool steps = scheme_ != nullptr && scheme_->reads_steps;
  const FlatAlgorithm* flat = steps ? &step_between(collective_, parameters_) : flat_;
  if (key == "radix") return flat != nullptr && flat->reads_radix;
  if (key == "segment") {
    return (flat != nullptr && flat->reads_segment) || (scheme_ && scheme_->reads_segment);
  }
  if (key == "leaders") return scheme_ != nullptr && scheme_->reads_leaders;
  if (key == "inside" && scheme_ != nullptr && scheme_->reads_form) return true;
  return (key == "between" || key == "inside") && steps;
}

void Algorithm::set(std::string_view text, const Setting& setting) {
  const auto [key, value] = setting;
  const std::string what = fmt::format("algorithm '{}': {}", text, key);
  if (!reads(key)) {
    throw_usage("algorithm '{}': parameter '{}' is not one of its own ({})", text, key,
                parameter_names());
  }
  const Table& table = table_of(collective_);
  // A default is kept as no choice, so that equal algorithms compare equal.
  const auto unless_default = [](const auto* chosen, const auto& entries) {
    return chosen == &entries.front() ? nullptr : chosen;
  };
  if (key == "radix") {
    parameters_.radix = static_cast<int>(env::parse_integer(what, value, 2, kMostRanks));
  } else if (key == "segment") {
    parameters_.segment = env::parse_bytes(what, value, 0, 1ull << 62);
  } else if (key == "leaders") {
    parameters_.leaders = hierarchy::parse_leaders(what, value);
  } else if (key == "between") {
    parameters_.between = unless_default(find_or_refuse(table.flat, what, value), table.flat);
  } else {
    const InsideAlgorithm* inside = find_or_refuse(table.inside, what, value);
    if (inside->topology != nullptr && !scheme_->reads_steps) {
      throw_usage("{} '{}': not one of staged, direct", what, value);
    }
    parameters_.inside = unless_default(inside, table.inside);
  }
}

std::string Algorithm::parameter_names() const {
  std::string list;
  for (const std::string_view key : {"leaders", "between", "inside", "radix", "segment"}) {
    if (reads(key)) append_to_list(list, key);
  }
  return list.empty() ? "it has none" : list;
}

std::string Algorithm::name() const {
  const Parameters defaults;
  std::string settings;
  const auto add = [&](std::string_view key, const auto& value) {
    settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",", key, value);
  };
  if (parameters_.leaders != defaults.leaders) {
    add("leaders", hierarchy::leaders_text(parameters_.leaders));
  }
  if (parameters_.between != nullptr) add("between", parameters_.between->name);
  if (parameters_.inside != nullptr) add("inside", parameters_.inside->name);
  if (parameters_.radix != defaults.radix) add("radix", parameters_.radix);
  if (parameters_.segment != defaults.segment) add("segment", parameters_.segment);
  return std::string(flat_ != nullptr ? flat_->name : scheme_->name) + settings;
}

}  // namespace weft::gather
