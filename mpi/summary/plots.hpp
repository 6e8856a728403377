// Plots of a report's page, as SVG: bars of several parts, and a map of who sends how much to whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::mpi {

/// Horizontal bars, one below the other, each of the same parts one behind the other.
struct Bars {
  struct Row {
    std::string label;
    std::vector<double> values;  // one a part
  };
  std::string title;
  std::vector<std::string> parts;  // names, for the legend
  std::vector<Row> rows;
  std::string (*text)(double) = nullptr;  // of a value
};
/// One <svg> element with its legend; a word where all is 0.
std::string to_svg(const Bars& bars);

/// bytes[from][to], as shades.
struct TrafficMap {
  std::string title;
  std::vector<std::string> labels;  // of a row and the column of the same number
  std::vector<std::vector<double>> bytes;
};
std::string to_svg(const TrafficMap& map);

}  // namespace weft::mpi
