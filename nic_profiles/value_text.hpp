// Values of a profile as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "nic_profiles/numbers.hpp"

namespace weft::nic_profiles {

/// "0.4 ns", "12.3 us", "1.5 ms".
std::string time_text(double ns);
/// "8 B", "32 KiB", "4 MiB".
std::string size_text(std::uint64_t bytes);
/// A number with its unit: "1.2 us", "25 GB/s", "all sizes", "yes", "1: 1, 8: 0.6".
std::string value_text(const Number& number, const sim::Hardware& hardware);
/// The same of a value that the number might have. Not of a list, or of yes and no.
std::string value_text(const Number& number, double value);

}  // namespace weft::nic_profiles
