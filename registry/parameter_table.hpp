// The parameters of algorithms as text: "key=value".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "algorithm/forms.hpp"

namespace weft::registry {

/// The steps that a scheme may run between and inside nodes; the first of each is the default.
struct Steps {
  std::span<const algorithm::FlatAlgorithm* const> between;
  std::span<const algorithm::InsideStep> inside;

  /// All parameters with their defaults.
  algorithm::Parameters defaults() const;
};

/// One parameter.
struct ParameterRow {
  algorithm::Parameter parameter;
  std::string_view key;
  /// Reads a value. UsageError, which begins with `what`, says what is allowed.
  void (*parse)(algorithm::Parameters& parameters, std::string_view what, std::string_view value,
                const Steps& steps);
  /// The text that parse() reads back.
  std::string (*format)(const algorithm::Parameters& parameters);
};

/// All parameters, in the order in which they stand in names of algorithms.
std::span<const ParameterRow> parameter_table();

/// The keys of a set, in order: "leaders, direct"; empty for none.
std::string keys_of(const algorithm::ParameterSet& set);

}  // namespace weft::registry
