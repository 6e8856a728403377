#include "mpi/summary/grid.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "base/svg.hpp"

namespace weft::mpi {

std::string Grid::to_text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = columns[c].title.size();
    for (const auto& row : rows) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text(indent);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text += columns[c].is_number ? fmt::format("{:>{}}  ", cell_of(c), widths[c])
                                   : fmt::format("{:<{}}  ", cell_of(c), widths[c]);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line([&](std::size_t c) { return columns[c].title; });
  for (const auto& row : rows) text += line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string Grid::to_html() const {
  const auto line = [&](const char* tag, const auto& cell_of) {
    std::string text = "<tr>";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text += fmt::format("<{0}{1}>{2}</{0}>", tag, columns[c].is_number ? " class=\"n\"" : "",
                          escape_html(cell_of(c)));
    }
    return text + "</tr>\n";
  };
  std::string text = "<div class=\"scroll\"><table class=\"numbers\">\n";
  text += line("th", [&](std::size_t c) { return columns[c].title; });
  for (const auto& row : rows) text += line("td", [&](std::size_t c) { return row[c]; });
  return text + "</table></div>\n";
}

std::string seconds_text(double seconds) {
  if (seconds <= 0) return "0";
  if (seconds >= 999.5) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 0.9995) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 0.9995e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  // Below a thousand: three digits have room.
  for (; bytes >= 999.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

std::string shape_text(const Shape& shape) {
  if (shape.ranks == 0) return "any";
  if (shape.nodes <= 1) return fmt::format("{}", shape.ranks);
  return fmt::format("{} on {}", shape.ranks, shape.nodes);
}

std::string share_text(double part, double whole) {
  return whole <= 0 ? "-" : fmt::format("{:.1f}", 100 * part / whole);
}

double total_run(const Summary& summary) {
  double all = 0;
  for (const RankTimes& rank : summary.by_rank) all += rank.seconds;
  return all;
}

double total_in_collectives(const Summary& summary) {
  double all = 0;
  for (const RankTimes& rank : summary.by_rank) {
    all += rank.served_seconds + rank.setup_seconds + rank.passed_seconds;
  }
  return all;
}

namespace {

double total(const auto& calls) {
  return calls.seconds.mean * calls.of_ranks;
}

std::string block_text(std::uint64_t bytes) {
  return bytes == 0 ? "0" : bytes_text(static_cast<double>(bytes));
}

/// The busiest first.
template <class Calls>
std::vector<const Calls*> by_time(const std::vector<Calls>& all, std::size_t most) {
  std::vector<const Calls*> sorted;
  for (const Calls& calls : all) sorted.push_back(&calls);
  std::ranges::stable_sort(sorted,
                           [](const Calls* a, const Calls* b) { return total(*a) > total(*b); });
  sorted.resize(std::min(sorted.size(), most));
  return sorted;
}

/// The host's time for a call like those, of its own calls before weft took over and in races; 0:
/// there were none.
double host_seconds(const Summary& summary, const ServedCalls& calls) {
  double seconds = 0;
  std::uint64_t made = 0;
  for (const PassedCalls& passed : summary.passed) {
    const bool is_like = passed.collective == calls.collective && passed.shape == calls.shape &&
                         passed.block_bytes_at_most == calls.block_bytes_at_most;
    if (!is_like) continue;
    seconds += passed.seconds.mean;
    made += passed.calls;
  }
  return made == 0 ? 0 : seconds / static_cast<double>(made);
}

/// Takes the column away where all its cells are the same as `empty`.
void drop_if_all(Grid& grid, std::string_view title, std::string_view empty) {
  const auto found = std::ranges::find(grid.columns, title, &Grid::Column::title);
  const auto at = found - grid.columns.begin();
  if (!std::ranges::all_of(
          grid.rows, [&](const auto& row) { return row[static_cast<std::size_t>(at)] == empty; })) {
    return;
  }
  grid.columns.erase(found);
  for (auto& row : grid.rows) row.erase(row.begin() + at);
}

}  // namespace

Grid grid_of_served(const Summary& summary, std::size_t most) {
  Grid grid{.columns = {{"collective", false},
                        {"ranks"},
                        {"block to"},
                        {"algorithm", false},
                        {"calls"},
                        {"bytes"},
                        {"by device"},
                        {"least"},
                        {"mean"},
                        {"most"},
                        {"waiting"},
                        {"% of run"},
                        {"a call"},
                        {"host's"}},
            .rows = {}};
  const double run = total_run(summary);
  for (const ServedCalls* calls : by_time(summary.served, most)) {
    const double host = host_seconds(summary, *calls);
    const auto count = static_cast<double>(std::max<std::uint64_t>(calls->calls, 1));
    grid.rows.push_back(
        {calls->collective, shape_text(calls->shape), block_text(calls->block_bytes_at_most),
         calls->algorithm, fmt::format("{}", calls->calls),
         bytes_text(static_cast<double>(calls->bytes)),
         bytes_text(static_cast<double>(calls->wire_bytes)), seconds_text(calls->seconds.least),
         seconds_text(calls->seconds.mean), seconds_text(calls->seconds.most),
         seconds_text(calls->waiting_seconds.mean), share_text(total(*calls), run),
         seconds_text(calls->seconds.mean / count), host == 0 ? "-" : seconds_text(host)});
  }
  drop_if_all(grid, "by device", "0 B");
  drop_if_all(grid, "host's", "-");
  return grid;
}

Grid grid_of_passed(const Summary& summary, std::size_t most) {
  Grid grid{.columns = {{"collective", false},
                        {"ranks"},
                        {"block to"},
                        {"calls"},
                        {"least"},
                        {"mean"},
                        {"most"},
                        {"% of run"},
                        {"why", false}},
            .rows = {}};
  for (const PassedCalls* calls : by_time(summary.passed, most)) {
    grid.rows.push_back({calls->collective, shape_text(calls->shape),
                         calls->block_bytes_at_most ? block_text(*calls->block_bytes_at_most) : "-",
                         fmt::format("{}", calls->calls), seconds_text(calls->seconds.least),
                         seconds_text(calls->seconds.mean), seconds_text(calls->seconds.most),
                         share_text(total(*calls), total_run(summary)), calls->why});
  }
  drop_if_all(grid, "block to", "-");
  return grid;
}

Grid grid_of_ranks(const Summary& summary) {
  Grid grid{.columns = {{"by rank", false}, {"least"}, {"mean"}, {"most"}, {"most: rank"}},
            .rows = {}};
  using Times = const RankTimes&;
  const auto row = [&](const char* title, const std::function<double(Times)>& of,
                       std::string (*text)(double)) {
    const auto& ranks = summary.by_rank;
    const auto less = [&](Times a, Times b) { return of(a) < of(b); };
    const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0,
                                       [&](double all, Times one) { return all + of(one); });
    const auto most = std::ranges::max_element(ranks, less);
    grid.rows.push_back({title, text(of(*std::ranges::min_element(ranks, less))),
                         text(sum / static_cast<double>(ranks.size())), text(of(*most)),
                         of(*most) == 0 ? "-" : fmt::format("{}", most->rank)});
  };
  if (summary.by_rank.empty()) return grid;
  row(
      "whole run", [](Times t) { return t.seconds; }, seconds_text);
  row(
      "calls served by weft", [](Times t) { return t.served_seconds; }, seconds_text);
  row(
      "  waiting for late ranks", [](Times t) { return t.waiting_seconds; }, seconds_text);
  row(
      "  moving data", [](Times t) { return std::max(0.0, t.served_seconds - t.waiting_seconds); },
      seconds_text);
  row(
      "set-up", [](Times t) { return t.setup_seconds; }, seconds_text);
  row(
      "calls passed through", [](Times t) { return t.passed_seconds; }, seconds_text);
  row(
      "bytes given to weft", [](Times t) { return static_cast<double>(t.bytes); }, bytes_text);
  return grid;
}

}  // namespace weft::mpi
