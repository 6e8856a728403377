// The numbers of a profile, by the paths that they have in its JSON form.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "sim/hardware.hpp"

namespace weft::nic_profiles {

/// One number: where it is in Hardware and what it may be.
struct Number {
  using Place = std::variant<double& (*)(sim::Hardware&), std::uint64_t& (*)(sim::Hardware&),
                             int& (*)(sim::Hardware&), bool& (*)(sim::Hardware&),
                             sim::Scaling& (*)(sim::Hardware&)>;

  std::string_view section;  ///< of the JSON form; empty: at the top
  std::string_view key;      ///< ends with the unit
  Place place;
  double low = 0;  ///< the least and the most allowed; for a Scaling, of its totals
  double high = 0;
  bool all_sizes = false;  ///< whether "all" may stand for it
  /// What it means that a profile leaves it out, as Hardware has it then; empty: none may.
  std::string_view absent = {};

  std::string path() const;
};

/// All of them, in the order of Hardware.
std::span<const Number> numbers();

}  // namespace weft::nic_profiles
