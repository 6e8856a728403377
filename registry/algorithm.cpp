#include "registry/algorithm.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "registry/all_algorithms.hpp"

namespace weft::registry {

using algorithm::FlatAlgorithm;
using algorithm::FlatForm;
using algorithm::Parameter;
using algorithm::ParameterSet;
using algorithm::Scheme;
using algorithm::SchemeForm;
using plan::Collective;

namespace {

/// The row of that name; nullptr where there is none.
template <class Row>
const Row* find_row(std::span<const Row* const> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : *found;
}

std::string all_names(Collective collective) {
  std::string list;
  for (const FlatAlgorithm* one : flat_algorithms(collective)) append_to_list(list, one->name);
  for (const Scheme* one : schemes(collective)) append_to_list(list, one->name);
  return list;
}

}  // namespace

Algorithm Algorithm::parse(Collective collective, std::string_view text) {
  const NamedSettings chosen = parse_named_settings("algorithm", text);
  Algorithm result;
  result.collective_ = collective;
  result.flat_ = find_row(flat_algorithms(collective), chosen.name);
  result.scheme_ = find_row(schemes(collective), chosen.name);
  if (result.flat_ == nullptr && result.scheme_ == nullptr) {
    throw_usage("algorithm '{}' for {}: not one of {}", chosen.name, to_string(collective),
                all_names(collective));
  }
  result.parameters_ = result.steps().defaults();
  // The step between nodes first: it says what else can be set.
  for (const bool between : {true, false}) {
    for (const auto& [key, value] : chosen.settings) {
      if ((key == "between") == between) result.set(text, key, value);
    }
  }
  return result;
}

Steps Algorithm::steps() const {
  if (scheme_ == nullptr) return {};
  const SchemeForm& form = scheme_form();
  Steps steps;
  if (form.between) steps.between = flat_algorithms(*form.between);
  steps.inside = form.inside;
  return steps;
}

std::optional<Collective> Algorithm::step_collective() const {
  const auto between = scheme_form().between;
  // What serves alltoall serves alltoallv, if it has no other form for that.
  return between && collective_ == Collective::alltoallv ? collective_ : between;
}

const FlatForm* Algorithm::flat_step() const {
  if (is_flat()) return &flat_form();
  const auto between = step_collective();
  return between ? parameters_.between->find(*between) : nullptr;
}

ParameterSet Algorithm::read_set() const {
  if (is_flat()) return flat_form().reads;
  const SchemeForm& form = scheme_form();
  ParameterSet reads = form.reads;
  if (form.between) reads = reads | ParameterSet{Parameter::between} | flat_step()->reads;
  if (!form.inside.empty()) reads = reads | ParameterSet{Parameter::inside};
  return reads;
}

void Algorithm::set(std::string_view text, std::string_view key, std::string_view value) {
  for (const ParameterRow& row : parameter_table()) {
    if (row.key != key || !reads(row.parameter)) continue;
    row.parse(parameters_, fmt::format("algorithm '{}': {}", text, key), value, steps());
    return;
  }
  throw_usage("algorithm '{}': parameter '{}' is not one of its own ({})", text, key,
              parameter_names());
}

/// Those that it reads, then those that it would read with another step between nodes.
std::string Algorithm::parameter_names() const {
  std::string list = keys_of(read_set());
  if (scheme_ != nullptr) {
    for (const ParameterRow& row : parameter_table()) {
      if (reads(row.parameter)) continue;
      std::string readers;
      for (const FlatAlgorithm* step : steps().between) {
        if (!step->find(*step_collective())->reads.has(row.parameter)) continue;
        readers += fmt::format("{}{}", readers.empty() ? "" : " or ", step->name);
      }
      if (!readers.empty()) {
        append_to_list(list, fmt::format("{} with between={}", row.key, readers));
      }
    }
  }
  return list.empty() ? "it has none" : list;
}

std::string Algorithm::name() const {
  const Parameters defaults = steps().defaults();
  std::string text(base_name());
  bool first = true;
  for (const ParameterRow& row : parameter_table()) {
    std::string value = row.format(parameters_);
    if (value == row.format(defaults)) continue;
    text += fmt::format("{}{}={}", first ? ':' : ',', row.key, value);
    first = false;
  }
  return text;
}

bool Algorithm::keeps_order() const {
  if (scheme_ != nullptr && !scheme_form().keeps_order) return false;
  const FlatForm* step = flat_step();
  return step == nullptr || step->keeps_order;
}

}  // namespace weft::registry
