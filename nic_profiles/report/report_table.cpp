#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "nic_profiles/report/curves.hpp"
#include "nic_profiles/report/report.hpp"
#include "nic_profiles/value_text.hpp"

namespace weft::nic_profiles {

namespace {

/// One row for each x, one column for each series; "-" where a series has no such point.
std::string to_text(const Chart& chart) {
  if (chart.series.empty()) return "";
  std::set<double> rows;
  std::string text = fmt::format("\n{} ({})\n  {:>20}", chart.title, chart.y_label,
                                 chart.x_is_bytes ? "size" : chart.x_label);
  for (const Series& series : chart.series) {
    text += fmt::format("  {:>12}", series.name);
    for (const auto& [x, y] : series.points) rows.insert(x);
  }
  text += "\n";
  for (const double x : rows) {
    text += fmt::format("  {:>20}", chart.x_is_bytes ? size_text(static_cast<std::uint64_t>(x))
                                                     : fmt::format("{:g}", x));
    for (const Series& series : chart.series) {
      const auto point = std::ranges::find(series.points, x, &std::pair<double, double>::first);
      const std::size_t width = std::max<std::size_t>(12, series.name.size());
      text += point == series.points.end() ? fmt::format("  {:>{}}", "-", width)
                                           : fmt::format("  {:>{}.4g}", point->second, width);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_table(const Report& report) {
  const Classification& found = report.classification;
  std::string text = fmt::format("{}: {}; {}\n", report.profile.name, report.profile.adapter,
                                 report.measurements.source);
  if (!report.measurements.complete) text += "PARTIAL: stopped before all was measured\n";
  text += fmt::format("class: {} (confidence {:.2f}): {}\n", to_string(found.kind),
                      found.confidence, found.reason);
  text += fmt::format("steady: {}\n", steadiness_text(report));
  for (const Chart& chart : charts(report.measurements)) text += to_text(chart);
  text += "\nprofile\n";
  for (const NumberText& number : number_texts(report)) {
    text += fmt::format("  {:<32}{:<16}{:<28}{}\n", number.path, number.value, number.interval,
                        number.source);
  }
  return text;
}

}  // namespace weft::nic_profiles
