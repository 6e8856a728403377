#include "registry/parameter_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"
#include "hierarchy/groups.hpp"

namespace weft::registry {

using algorithm::FlatAlgorithm;
using algorithm::InsideStep;
using algorithm::Parameter;
using algorithm::Parameters;

namespace {

constexpr std::int64_t kMostRanks = std::numeric_limits<int>::max();
constexpr std::uint64_t kMostBytes = 1ull << 62;
constexpr std::uint64_t kMostLatency = 1ull << 40;     // costs stay below 2^64 for all ranks
constexpr std::uint64_t kMostSlot = 1ull << 20;        // a message has many
constexpr std::uint64_t kMostAggregated = 1ull << 32;  // Algorithm::memory_bound makes such plans

/// A number from `least` on.
template <int Parameters::*value, int least>
void parse_number(Parameters& parameters, std::string_view what, std::string_view text,
                  const Steps& /*steps*/) {
  parameters.*value = static_cast<int>(env::parse_integer(what, text, least, kMostRanks));
}

/// A size of up to `most` bytes.
template <std::uint64_t Parameters::*value, std::uint64_t most>
void parse_size(Parameters& parameters, std::string_view what, std::string_view text,
                const Steps& /*steps*/) {
  parameters.*value = env::parse_bytes(what, text, 0, most);
}

template <auto value>
std::string format(const Parameters& parameters) {
  return std::to_string(parameters.*value);
}

void parse_leaders(Parameters& parameters, std::string_view what, std::string_view text,
                   const Steps& /*steps*/) {
  parameters.leaders = hierarchy::parse_leaders(what, text);
}
std::string format_leaders(const Parameters& parameters) {
  return hierarchy::leaders_text(parameters.leaders);
}

void parse_direct(Parameters& parameters, std::string_view what, std::string_view text,
                  const Steps& /*steps*/) {
  parameters.direct = env::parse_flag(what, text);
}
std::string format_direct(const Parameters& parameters) {
  return parameters.direct ? "1" : "0";
}

void parse_between(Parameters& parameters, std::string_view what, std::string_view text,
                   const Steps& steps) {
  const auto found = std::ranges::find(steps.between, text, &FlatAlgorithm::name);
  if (found == steps.between.end()) {
    std::string names;
    for (const FlatAlgorithm* one : steps.between) append_to_list(names, one->name);
    throw_usage("{}={}: not one of {}", what, text, names);
  }
  parameters.between = *found;
}
std::string format_between(const Parameters& parameters) {
  return parameters.between == nullptr ? "" : std::string(parameters.between->name);
}

void parse_inside(Parameters& parameters, std::string_view what, std::string_view text,
                  const Steps& steps) {
  const InsideStep* found = find_by_name(steps.inside, text);
  if (found == nullptr) {
    throw_usage("{}={}: not one of {}", what, text, names_of(steps.inside));
  }
  parameters.inside = found;
}
std::string format_inside(const Parameters& parameters) {
  return parameters.inside == nullptr ? "" : std::string(parameters.inside->name);
}

constexpr std::array kParameterTable = {
    ParameterRow{Parameter::leaders, "leaders", parse_leaders, format_leaders},
    ParameterRow{Parameter::cores, "cores", parse_number<&Parameters::cores, 1>,
                 format<&Parameters::cores>},
    ParameterRow{Parameter::direct, "direct", parse_direct, format_direct},
    ParameterRow{Parameter::aggregate, "aggregate",
                 parse_size<&Parameters::aggregate, kMostAggregated>,
                 format<&Parameters::aggregate>},
    ParameterRow{Parameter::between, "between", parse_between, format_between},
    ParameterRow{Parameter::inside, "inside", parse_inside, format_inside},
    ParameterRow{Parameter::radix, "radix", parse_number<&Parameters::radix, 2>,
                 format<&Parameters::radix>},
    ParameterRow{Parameter::window, "window", parse_number<&Parameters::window, 1>,
                 format<&Parameters::window>},
    ParameterRow{Parameter::arity, "arity", parse_number<&Parameters::arity, 2>,
                 format<&Parameters::arity>},
    ParameterRow{Parameter::segment, "segment", parse_size<&Parameters::segment, kMostBytes>,
                 format<&Parameters::segment>},
    ParameterRow{Parameter::slot, "slot", parse_size<&Parameters::slot, kMostSlot>,
                 format<&Parameters::slot>},
    ParameterRow{Parameter::latency, "latency", parse_size<&Parameters::latency, kMostLatency>,
                 format<&Parameters::latency>},
};

}  // namespace

Parameters Steps::defaults() const {
  Parameters parameters;
  if (!between.empty()) parameters.between = between.front();
  if (!inside.empty()) parameters.inside = &inside.front();
  return parameters;
}

std::span<const ParameterRow> parameter_table() {
  return kParameterTable;
}

std::string keys_of(const algorithm::ParameterSet& set) {
  std::string list;
  for (const ParameterRow& row : kParameterTable) {
    if (set.has(row.parameter)) append_to_list(list, row.key);
  }
  return list;
}

}  // namespace weft::registry
