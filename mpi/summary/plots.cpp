#include "mpi/summary/plots.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/svg.hpp"
#include "mpi/summary/grid.hpp"

namespace weft::mpi {

namespace {

constexpr double kWidth = 480;
constexpr double kLetter = 6.6;
constexpr double kMostLabel = 150;
constexpr double kValue = 66;  // room for the text of a value
constexpr double kLegendRow = 20;
// Rows that have a line of text each, and those where there are more of them.
constexpr std::size_t kMostWideRows = 16;
constexpr double kWideRow = 22, kNarrowRow = 9;
constexpr std::string_view kAtEnd = R"(text-anchor="end")";

Svg drawing(const std::string& title, double height) {
  Svg svg(fmt::format(R"(viewBox="0 0 {:g} {:.0f}" role="img" aria-label="{}")", kWidth, height,
                      escape_html(title)));
  svg.title(title);
  return svg;
}

std::string nothing(const std::string& title) {
  Svg svg = drawing(title, 40);
  svg.text(0, 24, "none");
  return std::move(svg).finish();
}

/// The names of the parts, in as many rows as they need. Returns the height.
double legend(Svg& svg, const std::vector<std::string>& parts) {
  double x = 0, y = 12;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const double width = 18 + kLetter * static_cast<double>(parts[part].size()) + 14;
    if (x > 0 && x + width > kWidth) {
      x = 0;
      y += kLegendRow;
    }
    svg.rectangle(x, y - 10, 12, 12, fmt::format(R"(style="fill:{}")", page_colour(part)));
    svg.text(x + 17, y, parts[part]);
    x += width;
  }
  return parts.empty() ? 0 : y + kLegendRow - 4;
}

double legend_height(const std::vector<std::string>& parts) {
  Svg unseen("");
  return legend(unseen, parts);
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::string to_svg(const Bars& bars) {
  double most = 0;
  std::size_t longest = 1;
  for (const Bars::Row& row : bars.rows) {
    most = std::max(most, sum(row.values));
    longest = std::max(longest, row.label.size());
  }
  if (!(most > 0)) return nothing(bars.title);
  const bool is_wide = bars.rows.size() <= kMostWideRows;
  const double each = is_wide ? kWideRow : kNarrowRow;
  const double left = std::min(kLetter * static_cast<double>(longest) + 10, kMostLabel);
  const double scale = (kWidth - left - kValue) / most;
  const double top = legend_height(bars.parts);
  Svg svg = drawing(bars.title, top + each * static_cast<double>(bars.rows.size()) + 6);
  legend(svg, bars.parts);
  for (std::size_t i = 0; i < bars.rows.size(); ++i) {
    const Bars::Row& row = bars.rows[i];
    const double y = top + each * static_cast<double>(i);
    const bool is_labelled = is_wide || i % 4 == 0;
    if (is_labelled) svg.text(left - 8, y + each / 2 + 4, row.label, kAtEnd);
    double x = left;
    for (std::size_t part = 0; part < row.values.size(); ++part) {
      const double width = row.values[part] * scale;
      if (!(width > 0)) continue;
      const std::string name = part < bars.parts.size() ? bars.parts[part] + ": " : "";
      svg.rectangle(x, y + 1, std::max(width, 0.5), each - 2,
                    fmt::format(R"(style="fill:{}")", page_colour(part)),
                    fmt::format("{}: {}{}", row.label, name, bars.text(row.values[part])));
      x += width;
    }
    if (is_labelled) svg.text(x + 5, y + each / 2 + 4, bars.text(sum(row.values)));
  }
  return std::move(svg).finish();
}

std::string to_svg(const TrafficMap& map) {
  double most = 0;
  for (const auto& row : map.bytes) {
    for (const double bytes : row) most = std::max(most, bytes);
  }
  if (!(most > 0)) return nothing(map.title);
  std::size_t longest = 1;
  for (const std::string& label : map.labels) longest = std::max(longest, label.size());
  const double left = kLetter * static_cast<double>(longest) + 26;
  const double top = 34;
  const auto count = static_cast<double>(map.bytes.size());
  const double each = std::min(40.0, (kWidth - left) / count);
  Svg svg = drawing(map.title, top + each * count + 4);
  svg.text(left, 12, "to rank");
  svg.upward_text(12, top + each * count / 2, "from rank", R"(text-anchor="middle")");
  // As many labels as have room.
  const auto step =
      static_cast<std::size_t>(std::ceil((kLetter * static_cast<double>(longest) + 6) / each));
  const auto step_down = static_cast<std::size_t>(std::ceil(14 / each));
  for (std::size_t from = 0; from < map.bytes.size(); ++from) {
    const double y = top + each * static_cast<double>(from);
    const double middle = each * (static_cast<double>(from) + 0.5);
    if (from % step == 0) {
      svg.text(left + middle, top - 6, map.labels[from], R"(text-anchor="middle")");
    }
    if (from % step_down == 0) svg.text(left - 5, top + middle + 4, map.labels[from], kAtEnd);
    for (std::size_t to = 0; to < map.bytes[from].size(); ++to) {
      const double bytes = map.bytes[from][to];
      // What is little is seen, too.
      const double shade = bytes == 0 ? 0.04 : 0.12 + 0.88 * bytes / most;
      svg.rectangle(
          left + each * static_cast<double>(to), y, each - 1, each - 1,
          fmt::format(R"(style="fill:{};fill-opacity:{:.2f}")", page_colour(0), shade),
          fmt::format("{} to {}: {}", map.labels[from], map.labels[to], bytes_text(bytes)));
    }
  }
  return std::move(svg).finish();
}

}  // namespace weft::mpi
