#include "cli/tune/tuning_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/installation.hpp"
#include "base/svg.hpp"
#include "cli/tune/winner_map.hpp"
#include "mpi/summary/grid.hpp"
#include "nic_profiles/report/chart.hpp"

namespace weft::cli {

namespace {

using nic_profiles::Chart;
using nic_profiles::Series;

constexpr double kMicrosecond = 1e6;
constexpr double kPercent = 100;

std::string figure(std::string_view title, std::string_view note, const std::string& svg) {
  return fmt::format("<figure>\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</figure>\n",
                     escape_html(title), escape_html(note), svg);
}

std::string map(const PagePart& part) {
  const std::string title = fmt::format("{}: who wins where", to_string(part.found.collective));
  const auto is_predicted = [](const MapRow& row) { return row.is_predicted; };
  const bool has_both = part.map.size() > 1 && std::ranges::any_of(part.map, is_predicted);
  const std::string note =
      has_both ? "Nodes and ranks of a node from below, bytes of a block or vector from the left. "
                 "The uppermost row was tuned; those below it are predicted."
               : "Bytes of a block or vector.";
  return figure(title, note, to_svg(title, part.map));
}

/// A point of each size of which there is a value.
template <class Value>
Series series(std::string name, const TunedCollective& found, Value value) {
  Series all{std::move(name), {}};
  for (const TunedSize& one : found.sizes) {
    const std::optional<double> y = value(one);
    if (y) all.points.emplace_back(static_cast<double>(one.bytes), *y);
  }
  return all;
}

void add(Chart& chart, Series one) {
  if (!one.points.empty()) chart.series.push_back(std::move(one));
}

std::string times(const PagePart& part, const TuningPage& page) {
  Chart chart{.title = fmt::format("{}: time", to_string(part.found.collective)),
              .x_label = "bytes of a block or vector",
              .y_label = "microseconds",
              .y_logarithmic = true,
              .series = {}};
  using Time = std::optional<double>;
  add(chart, series(page.time, part.found,
                    [](const TunedSize& one) { return Time(one.seconds * kMicrosecond); }));
  add(chart, series("predicted", part.found, [](const TunedSize& one) {
        return one.predicted ? Time(*one.predicted * kMicrosecond) : Time();
      }));
  add(chart, series(page.own, part.found, [](const TunedSize& one) {
        return one.own_algorithm.empty() ? Time() : Time(one.own_seconds * kMicrosecond);
      }));
  std::string note = fmt::format("What was found, {}, and {}.", page.time, page.own);
  if (!page.predicts.empty()) note += " Predicted with " + page.predicts + ".";
  return figure(chart.title, note, to_svg(chart));
}

std::string regret(const PagePart& part, const TuningPage& page) {
  Chart chart{.title = fmt::format("{}: regret", to_string(part.found.collective)),
              .x_label = "bytes of a block or vector",
              .y_label = "per cent",
              .series = {}};
  add(chart, series(page.own, part.found, [](const TunedSize& one) {
        const bool is_known = !one.own_algorithm.empty() && one.seconds > 0;
        const double best = std::min(one.seconds, one.own_seconds);
        return is_known ? std::optional((one.own_seconds / best - 1) * kPercent) : std::nullopt;
      }));
  add(chart, {"the table, between sizes that were tuned", part.held_out});
  return figure(chart.title, "How much longer it takes than the best that is known.",
                to_svg(chart));
}

std::string time_text(double seconds) {
  return fmt::format("{:.2f}", seconds * kMicrosecond);
}

std::string numbers(const PagePart& part, const TuningPage& page) {
  mpi::Grid grid;
  grid.columns = {{"bytes"},        {"algorithm", false}, {page.time + " us"},
                  {"predicted us"}, {page.own + ", us"},  {page.own, false}};
  for (const TunedSize& one : part.found.sizes) {
    const bool has_own = !one.own_algorithm.empty();
    grid.rows.push_back({fmt::format("{}", one.bytes), one.algorithm, time_text(one.seconds),
                         one.predicted ? time_text(*one.predicted) : "-",
                         has_own ? time_text(one.own_seconds) : "-",
                         has_own ? one.own_algorithm : "-"});
  }
  return fmt::format("<h2>{}</h2>\n{}", to_string(part.found.collective), grid.to_html());
}

}  // namespace

std::string to_html(const TuningPage& page) {
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<div class=\"charts\">\n",
                                 escape_html(page.title), escape_html(page.lead));
  for (const PagePart& part : page.parts) {
    body += map(part);
    // A barrier has no sizes.
    if (part.found.sizes.empty() || part.found.sizes.front().bytes == 0) continue;
    body += times(part, page) + regret(part, page);
  }
  body += "</div>\n";
  for (const PagePart& part : page.parts) body += numbers(part, page);
  body += fmt::format("<footer>weft {}. docs/tune.md explains the numbers.</footer>\n", kVersion);
  return html_page(page.title, body);
}

}  // namespace weft::cli
