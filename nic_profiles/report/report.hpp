// Report of a probe, for programs and for people.
#pragma once

#include <string>

#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/measurements.hpp"
#include "nic_profiles/fit/steadiness.hpp"

namespace weft::nic_profiles {

/// Measurements, and the class and profile that follow from them.
struct Report {
  explicit Report(Measurements taken);

  Measurements measurements;
  Classification classification;
  Profile profile;  ///< fitted, with intervals
  Steadiness steadiness;
};

/// {"complete", "source", "class": {"name", "confidence", "reason"}, "profile", "steadiness",
/// "measurements"}:
/// the profile as to_json() writes it; load() reads the whole, too, when it is complete.
std::string to_json(const Report& report);

/// For a terminal: the class, the curves of Kumar et al.'s Figs. 2 to 5 as tables, the numbers.
std::string to_table(const Report& report);

/// One HTML page that needs nothing else: the class, plots, all numbers with their sources.
std::string to_html(const Report& report);

/// One line: whether the numbers can be trusted, and what else used the cores.
std::string steadiness_text(const Report& report);

/// A number of a profile with its unit, and its interval ("1.2 us to 1.3 us", or empty). A measured
/// number has the source "measured"; the report gives its own source once.
struct NumberText {
  std::string path, value, interval, source;
};
std::vector<NumberText> number_texts(const Report& report);

}  // namespace weft::nic_profiles
