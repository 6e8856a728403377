#include <algorithm>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "reduce/algorithms.hpp"
#include "reduce/flat/problem.hpp"
#include "reduce/schemes/nodes.hpp"

namespace weft::reduce {

using plan::Collective;

namespace {

constexpr std::uint64_t kMostBytes = 1ull << 62;

template <class Table>
auto find(const Table& table, Collective collective, std::string_view name)
    -> decltype(table.data()) {
  const auto found = std::ranges::find_if(table, [&](const auto& entry) {
    return entry.collective == collective && entry.name == name;
  });
  return found == table.end() ? nullptr : &*found;
}

std::string names(const auto& table, Collective collective) {
  std::string list;
  for (const auto& entry : table) {
    if (entry.collective == collective) append_to_list(list, entry.name);
  }
  return list;
}

std::string all_names(Collective collective) {
  std::string list = names(flat_algorithms(), collective);
  const std::string more = names(schemes(), collective);
  if (!more.empty()) append_to_list(list, more);
  return list;
}

void check(const plan::Problem& problem, const hierarchy::Machine& machine, int rank,
           Collective collective) {
  const auto name = to_string(collective);
  if (problem.collective != collective) {
    throw_usage("{} asked for {}", name, to_string(problem.collective));
  }
  if (problem.ranks != machine.ranks()) {
    throw_usage("{} of {} ranks on a machine of {}: they must be equal", name, problem.ranks,
                machine.ranks());
  }
  if (rank < 0 || rank >= problem.ranks) {
    throw_usage("{} of {} ranks: rank {} is not from 0 to {}", name, problem.ranks, rank,
                problem.ranks - 1);
  }
  if (is_rooted(collective) && (problem.root < 0 || problem.root >= problem.ranks)) {
    throw_usage("{} of {} ranks: root {} is not from 0 to {}", name, problem.ranks, problem.root,
                problem.ranks - 1);
  }
  if (!problem.layout.empty() && problem.layout.size() != static_cast<std::size_t>(problem.ranks)) {
    throw_usage("{} of {} ranks with a layout of {} blocks: they must be equal", name,
                problem.ranks, problem.layout.size());
  }
  const auto is_whole = [&](const Block& block) {
    return block.offset % problem.element_bytes == 0 && block.bytes % problem.element_bytes == 0;
  };
  if (problem.element_bytes == 0 || problem.block_bytes % problem.element_bytes != 0 ||
      problem.stride % problem.element_bytes != 0 ||
      !std::ranges::all_of(problem.layout, is_whole)) {
    throw_usage(
        "{} of blocks of {} bytes, {} apart, of elements of {}: blocks must be of whole "
        "elements",
        name, problem.block_bytes, problem.stride, problem.element_bytes);
  }
}

bool is_prefix(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

}  // namespace

Collective Algorithm::collective() const {
  return flat_ != nullptr ? flat_->collective : scheme_->collective;
}

bool Algorithm::keeps_order() const {
  if (flat_ != nullptr) return flat_->keeps_order;
  if (!scheme_->between) return scheme_->keeps_order;
  return scheme_->keeps_order && step_between(*scheme_->between, parameters_).keeps_order;
}

std::optional<std::string> Algorithm::refusal(const plan::Problem& problem,
                                              const hierarchy::Machine& machine) const {
  const bool ordered = !problem.commutative || is_prefix(collective());
  if (ordered && !keeps_order()) {
    return fmt::format(
        "{} {} does not keep the order of the ranks, and the operation does not "
        "commute",
        to_string(collective()), name());
  }
  if (ordered && scheme_ != nullptr && !Nodes(machine, 0).are_runs()) {
    return fmt::format(
        "{} {} keeps the order of the ranks only where those of each node follow "
        "one another, not on {}",
        to_string(collective()), name(), to_string(machine));
  }
  if (scheme_ != nullptr && scheme_->one_node && machine.nodes() > 1) {
    return fmt::format("{} {} is for ranks of one node, not for {}", to_string(collective()),
                       name(), to_string(machine));
  }
  if (scheme_ != nullptr && scheme_->needs_associative && !problem.associative) {
    return fmt::format(
        "{} {} groups the operands otherwise on each node, and the operation is "
        "not associative to the bit",
        to_string(collective()), name());
  }
  return std::nullopt;
}

plan::Plan Algorithm::plan(const plan::Problem& problem, const hierarchy::Machine& machine,
                           int rank) const {
  check(problem, machine, rank, collective());
  if (const auto why = refusal(problem, machine)) throw_usage("{}", *why);
  plan::Builder builder(rank, problem.ranks, problem.input_bytes(rank), problem.output_bytes(rank));
  if (vector_bytes(problem) > 0) {
    Ledger ledger(builder);
    if (flat_ != nullptr) {
      flat_->emit(ledger, whole(ledger, problem, flat_->takes_any_blocks), parameters_);
    } else {
      scheme_->emit(ledger, problem, machine, parameters_);
    }
  }
  return std::move(builder).finish();
}

Algorithm Algorithm::parse(Collective collective, std::string_view text) {
  const NamedSettings chosen = parse_named_settings("algorithm", text);
  Algorithm result;
  result.flat_ = find(flat_algorithms(), collective, chosen.name);
  result.scheme_ = find(schemes(), collective, chosen.name);
  if (result.flat_ == nullptr && result.scheme_ == nullptr) {
    throw_usage("algorithm '{}' for {}: not one of {}", chosen.name, to_string(collective),
                all_names(collective));
  }
  for (const auto& [key, value] : chosen.settings) result.set(text, key, value);
  // Only now it is known what runs between nodes.
  if (chosen.has("segment") && !result.reads_segment()) {
    throw_usage("algorithm '{}': it has no segments", text);
  }
  if (chosen.has("latency") && !result.reads_latency()) {
    throw_usage("algorithm '{}': a latency is for adaptive alone", text);
  }
  return result;
}

bool Algorithm::reads_segment() const {
  if (flat_ != nullptr) return flat_->reads_segment;
  return scheme_->between && step_between(*scheme_->between, parameters_).reads_segment;
}

bool Algorithm::reads_latency() const {
  if (flat_ != nullptr) return flat_->reads_latency;
  return scheme_->between && step_between(*scheme_->between, parameters_).reads_latency;
}

void Algorithm::set(std::string_view text, std::string_view key, std::string_view value) {
  const std::string what = fmt::format("algorithm '{}': {}", text, key);
  const bool between = scheme_ != nullptr && scheme_->between.has_value();
  if (key == "segment" && (between || reads_segment())) {
    parameters_.segment = env::parse_bytes(what, value, 0, kMostBytes);
  } else if (key == "latency" && (between || reads_latency())) {
    parameters_.latency = env::parse_bytes(what, value, 0, kMostBytes >> 22);
  } else if (key == "leaders" && scheme_ != nullptr && scheme_->reads_leaders) {
    parameters_.leaders = hierarchy::parse_leaders(what, value);
  } else if (key == "direct" && scheme_ != nullptr && scheme_->reads_direct) {
    parameters_.direct = env::parse_flag(what, value);
  } else if (key == "between" && between) {
    const FlatAlgorithm* step = find(flat_algorithms(), *scheme_->between, value);
    if (step == nullptr) {
      throw_usage("{}={}: not one of {}", what, value, names(flat_algorithms(), *scheme_->between));
    }
    // The default is kept as no choice, so that equal algorithms compare equal.
    const bool is_default = step == &step_between(*scheme_->between, {});
    parameters_.between = is_default ? nullptr : step;
  } else {
    throw_usage("algorithm '{}': parameter '{}' is not one of its own ({})", text, key,
                parameter_names());
  }
}

std::string Algorithm::parameter_names() const {
  std::string list;
  if (flat_ != nullptr) {
    if (flat_->reads_segment) append_to_list(list, "segment");
    if (flat_->reads_latency) append_to_list(list, "latency");
  } else {
    if (scheme_->reads_leaders) append_to_list(list, "leaders");
    if (scheme_->reads_direct) append_to_list(list, "direct");
    if (scheme_->between) append_to_list(list, "between");
    if (scheme_->between) append_to_list(list, "what the step between nodes has");
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
  if (parameters_.direct != defaults.direct) add("direct", 1);
  if (parameters_.between != defaults.between) add("between", parameters_.between->name);
  if (parameters_.segment != defaults.segment) add("segment", parameters_.segment);
  if (parameters_.latency != defaults.latency) add("latency", parameters_.latency);
  return std::string(flat_ != nullptr ? flat_->name : scheme_->name) + settings;
}

}  // namespace weft::reduce
