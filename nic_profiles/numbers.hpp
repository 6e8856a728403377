// Numbers of a profile: the paths in its JSON form, places in Hardware, and ranges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/hardware.hpp"

namespace weft::nic_profiles {

/// One number of a profile.
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
  /// The source of the number in a profile that leaves it out; empty: no profile may.
  std::string_view absent = {};

  std::string path() const;
};

/// All of them, in the order of Hardware.
std::span<const Number> numbers();

/// Where each number is from, by its path: as in a Profile.
using Sources = std::map<std::string, std::string>;

/// Those that a profile with these sources says, in the order of Hardware.
std::vector<Number> said_numbers(const Sources& sources);
/// Those of them whose source begins with "estimate".
std::vector<Number> estimates(const Sources& sources);

/// `hardware` with that number times `factor`, inside what is allowed, whole where it must be; of a
/// Scaling, the totals of more senders than one. nullopt where that leaves the hardware as it is:
/// 0, "all", true or false.
std::optional<sim::Hardware> scaled(const Number& number, const sim::Hardware& hardware,
                                    double factor);

}  // namespace weft::nic_profiles
