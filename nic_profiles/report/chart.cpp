#include "nic_profiles/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/svg.hpp"

namespace weft::nic_profiles {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWidth = 560, kHeight = 320;
constexpr double kLeft = 64, kRight = 28, kTop = 16, kBottom = 48;
constexpr double kLegendRow = 20;
constexpr std::size_t kMostLegendColumns = 4;
constexpr double kLegendMark = 34, kLetter = 7;  // widths
constexpr double kTickText = 68;
constexpr std::string_view kMiddle = R"(text-anchor="middle")";

/// An axis: from values to positions.
struct Axis {
  double low = 0, high = 1;  // of values, or of their logarithms
  bool logarithmic = false;
  double from = 0, to = 1;  // of positions

  double at(double value) const {
    const double v = logarithmic ? std::log2(value) : value;
    return from + (v - low) / (high - low) * (to - from);
  }
};

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:g} KiB", bytes / (1 << 10));
  return fmt::format("{:g}", bytes);
}

/// 1, 2 or 5 times a power of ten, so that about five ticks fit.
double tick_distance(double range) {
  const double rough = range / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string number_text(double value) {
  return fmt::format("{:.4g}", value);
}

std::string x_text(const Chart& chart, double value) {
  return chart.x_is_bytes ? bytes_text(value) : number_text(value);
}

template <class Use>
void for_points(const Chart& chart, Use use) {
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) use(x, y);
  }
}

Axis x_axis(const Chart& chart) {
  double low = kInfinity, high = -kInfinity;
  for_points(chart, [&](double x, double) {
    low = std::min(low, x);
    high = std::max(high, x);
  });
  if (chart.x_is_bytes) low = std::log2(low), high = std::log2(high);
  if (low == high) high += 1;
  return {low, high, chart.x_is_bytes, kLeft, kWidth - kRight};
}

Axis y_axis(const Chart& chart) {
  double low = kInfinity, high = 0;
  for_points(chart, [&](double, double y) {
    low = std::min(low, y);
    high = std::max(high, y);
  });
  if (!(high > 0)) high = 1;
  if (!chart.y_logarithmic || !(low > 0)) {
    return {0, high * 1.05, false, kHeight - kBottom, kTop};
  }
  return {std::log2(low / 1.2), std::log2(high * 1.2), true, kHeight - kBottom, kTop};
}

void grid_line(Svg& svg, double x1, double y1, double x2, double y2) {
  svg.line(x1, y1, x2, y2, R"(class="grid")");
}

/// No more powers of two than have room for their text; of counts, those that are there.
std::set<double> x_ticks(const Chart& chart, const Axis& axis) {
  std::set<double> ticks;
  if (!chart.x_is_bytes) {
    for_points(chart, [&](double x, double) { ticks.insert(x); });
    return ticks;
  }
  const double most = std::floor((kWidth - kLeft - kRight) / kTickText);
  const double step = std::max(1.0, std::ceil((axis.high - axis.low) / most));
  for (double power = std::ceil(axis.low); power <= axis.high + 1e-9; power += step) {
    ticks.insert(std::exp2(power));
  }
  return ticks;
}

void draw_x_axis(Svg& svg, const Chart& chart, const Axis& axis) {
  const double base = kHeight - kBottom;
  for (const double value : x_ticks(chart, axis)) {
    grid_line(svg, axis.at(value), kTop, axis.at(value), base);
    svg.text(axis.at(value), base + 16, x_text(chart, value), kMiddle);
  }
  svg.text((kLeft + kWidth - kRight) / 2, base + 38, chart.x_label, kMiddle);
}

/// Powers of ten on a logarithmic axis, and 2 and 5 times these where they are few.
std::vector<double> y_ticks(const Axis& axis) {
  std::vector<double> ticks;
  if (!axis.logarithmic) {
    const double step = tick_distance(axis.high);
    for (double value = 0; value <= axis.high + 1e-9; value += step) ticks.push_back(value);
    return ticks;
  }
  const double low = std::exp2(axis.low), high = std::exp2(axis.high);
  const bool few = high / low < 1e3;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if (value >= low && value <= high && (few || factor == 1)) ticks.push_back(value);
    }
  }
  return ticks;
}

void draw_y_axis(Svg& svg, const Chart& chart, const Axis& axis) {
  for (const double value : y_ticks(axis)) {
    const double y = axis.at(value);
    grid_line(svg, kLeft, y, kWidth - kRight, y);
    svg.text(kLeft - 6, y + 4, number_text(value), R"(text-anchor="end")");
  }
  svg.upward_text(14, (kTop + kHeight - kBottom) / 2, chart.y_label, kMiddle);
}

void draw_series(Svg& svg, const Chart& chart, const Series& series, std::string_view colour,
                 const Axis& x, const Axis& y) {
  std::vector<std::pair<double, double>> points;
  for (const auto& [value_x, value_y] : series.points) {
    points.emplace_back(x.at(value_x), y.at(value_y));
  }
  svg.polyline(points, fmt::format(R"(style="fill:none;stroke:{};stroke-width:2")", colour));
  const std::string style = fmt::format(R"(style="fill:{}")", colour);
  for (const auto& [value_x, value_y] : series.points) {
    svg.circle(
        x.at(value_x), y.at(value_y), 3, style,
        fmt::format("{}: {}, {}", series.name, x_text(chart, value_x), number_text(value_y)));
  }
}

/// As many columns as have room for the longest name.
std::size_t legend_columns(const Chart& chart) {
  std::size_t longest = 1;
  for (const Series& series : chart.series) longest = std::max(longest, series.name.size());
  const double each = kLegendMark + kLetter * static_cast<double>(longest);
  const auto room = static_cast<std::size_t>((kWidth - kLeft) / each);
  return std::clamp<std::size_t>(room, 1, kMostLegendColumns);
}

void draw_legend(Svg& svg, const Chart& chart) {
  const std::size_t columns = legend_columns(chart);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const double x =
        kLeft + static_cast<double>(i % columns) * (kWidth - kLeft) / static_cast<double>(columns);
    const std::size_t row = i / columns;
    const double y = kHeight + 8 + static_cast<double>(row) * kLegendRow;
    svg.rectangle(x, y - 5, 12, 4, fmt::format(R"(style="fill:{}")", page_colour(i)));
    svg.text(x + 17, y, chart.series[i].name);
  }
}

}  // namespace

std::string to_svg(const Chart& chart) {
  const std::size_t columns = legend_columns(chart);
  const std::size_t rows = (chart.series.size() + columns - 1) / columns;
  const double height = kHeight + 4 + static_cast<double>(rows) * kLegendRow;
  Svg svg(fmt::format(R"(viewBox="0 0 {:g} {:g}" role="img" aria-label="{}")", kWidth, height,
                      escape_html(chart.title)));
  svg.title(chart.title);
  bool any = false;
  for_points(chart, [&](double, double) { any = true; });
  if (!any) {
    svg.text(kLeft, kHeight / 2, "not measured");
    return std::move(svg).finish();
  }
  const Axis x = x_axis(chart), y = y_axis(chart);
  draw_x_axis(svg, chart, x);
  draw_y_axis(svg, chart, y);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    draw_series(svg, chart, chart.series[i], page_colour(i), x, y);
  }
  draw_legend(svg, chart);
  return std::move(svg).finish();
}

}  // namespace weft::nic_profiles
