// Chart: a plot as SVG, lines over logarithmic sizes or small counts.
#pragma once

#include <string>
#include <vector>

namespace weft::nic_profiles {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< ascending by x; x above 0 where it is sizes
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool x_is_bytes = true;  ///< logarithmic, ticks as 1, 32, 1 KiB; else counts, linear
  bool y_logarithmic = false;
  std::vector<Series> series;  ///< at most 8 have colours of their own
};

/// One <svg> element with its legend. Text takes its colour from the page ("currentColor").
std::string to_svg(const Chart& chart);

}  // namespace weft::nic_profiles
