// Report of a probe, for programs and for people.
#pragma once

#include <string>

#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Measurements, and the class and profile that follow from them.
struct Report {
  explicit Report(Measurements taken);

  Measurements measurements;
  Classification classification;
  Profile profile;  ///< fitted
};

/// {"complete", "source", "class": {"name", "confidence", "reason"}, "profile", "measurements"}:
/// the profile as to_json() writes it; load() reads the whole, too, when it is complete.
std::string to_json(const Report& report);

/// For a terminal: the class, the curves of Kumar et al.'s Figs. 2 to 5 as tables, the numbers.
std::string to_table(const Report& report);

/// One HTML page that needs nothing else: the class, plots, all numbers with their sources.
std::string to_html(const Report& report);

/// "0.4 ns", "12.3 us", "1.5 ms".
std::string time_text(double ns);
/// "8", "32 KiB", "4 MiB".
std::string size_text(std::uint64_t bytes);
/// A number of a profile with its unit; "none", "all sizes", "yes". A measured number
/// has the source "measured"; the report gives its own source once.
struct NumberText {
  std::string path, value, source;
};
std::vector<NumberText> number_texts(const Report& report);

}  // namespace weft::nic_profiles
