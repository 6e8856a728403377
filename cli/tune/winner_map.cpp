#include "cli/tune/winner_map.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/svg.hpp"
#include "mpi/summary/grid.hpp"
#include "tune/experiments/simulated.hpp"

namespace weft::cli {

namespace {

constexpr double kWidth = 560, kRow = 30, kTop = 6, kBottom = 40, kLegendRow = 20;
constexpr double kLetter = 7, kTickText = 60, kNumberText = 16;
constexpr std::string_view kMiddle = R"(text-anchor="middle")";
// On a ground of any of the page's colours, light or dark.
constexpr std::string_view kOnColour = R"(text-anchor="middle" style="fill:#000")";

class WinnerMap {
 public:
  WinnerMap(std::string_view title, std::span<const MapRow> rows)
      : title_(title), rows_(rows), base_(kTop + kRow * static_cast<double>(rows.size())) {
    std::size_t longest = 1;
    for (const MapRow& row : rows) {
      longest = std::max(longest, row.machine.size());
      for (const auto& [bytes, algorithm] : row.winners) {
        sizes_.insert(bytes);
        add_name(tune::method_of(algorithm));
      }
    }
    left_ = kLetter * static_cast<double>(longest) + 12;
    each_ = (kWidth - left_) / static_cast<double>(std::max<std::size_t>(sizes_.size(), 1));
  }

  std::string draw() const {
    const double legend = kLegendRow * static_cast<double>(names_.size());
    Svg svg(fmt::format(R"(viewBox="0 0 {:g} {:g}" role="img" aria-label="{}")", kWidth,
                        base_ + kBottom + legend, escape_html(title_)));
    svg.title(title_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      draw_row(svg, rows_[rows_.size() - 1 - i], kTop + kRow * static_cast<double>(i));
    }
    draw_sizes(svg);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const double y = base_ + kBottom + kLegendRow * static_cast<double>(i) + 12;
      svg.rectangle(left_, y - 12, 18, 15, style_of(i));
      svg.text(left_ + 9, y, fmt::format("{}", i + 1), kOnColour);
      svg.text(left_ + 26, y, names_[i]);
    }
    return std::move(svg).finish();
  }

 private:
  void add_name(const std::string& name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  }
  static std::string style_of(std::size_t name) {
    return fmt::format(R"(style="fill:{}")", page_colour(name));
  }
  double left_of(std::uint64_t bytes) const {
    return left_ + each_ * static_cast<double>(std::distance(sizes_.begin(), sizes_.find(bytes)));
  }

  void draw_row(Svg& svg, const MapRow& row, double y) const {
    svg.text(left_ - 6, y + kRow / 2 + 4, row.machine, R"(text-anchor="end")");
    for (const auto& [bytes, algorithm] : row.winners) {
      const auto name = std::ranges::find(names_, tune::method_of(algorithm)) - names_.begin();
      svg.rectangle(left_of(bytes), y, each_ - 1, kRow - 1,
                    style_of(static_cast<std::size_t>(name)),
                    fmt::format("{} on {}: {}", mpi::bytes_text(static_cast<double>(bytes)),
                                row.machine, algorithm));
      if (each_ < kNumberText) continue;
      svg.text(left_of(bytes) + each_ / 2, y + kRow / 2 + 4, fmt::format("{}", name + 1),
               kOnColour);
    }
  }

  /// As many as have room.
  void draw_sizes(Svg& svg) const {
    const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(kTickText / each_)));
    std::size_t number = 0;
    for (const std::uint64_t bytes : sizes_) {
      if (number++ % step != 0) continue;
      svg.text(left_of(bytes) + each_ / 2, base_ + 16, mpi::bytes_text(static_cast<double>(bytes)),
               kMiddle);
    }
  }

  std::string_view title_;
  std::span<const MapRow> rows_;
  std::set<std::uint64_t> sizes_;
  std::vector<std::string> names_;  // in the order of the legend
  double left_ = 0, each_ = 1, base_;
};

}  // namespace

std::string to_svg(std::string_view title, std::span<const MapRow> rows) {
  return WinnerMap(title, rows).draw();
}

}  // namespace weft::cli
