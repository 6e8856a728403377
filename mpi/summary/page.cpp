#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/installation.hpp"
#include "base/svg.hpp"
#include "mpi/summary/grid.hpp"
#include "mpi/summary/plots.hpp"

namespace weft::mpi {

namespace {

// Of more ranks, several become one bar or one square.
constexpr std::size_t kMostBars = 64;
constexpr std::size_t kMostSquares = 32;
constexpr std::size_t kMostRows = 200;

/// Seconds of all ranks together, in a collective.
struct Times {
  double moving = 0, waiting = 0, passed = 0;
  double all() const { return moving + waiting + passed; }
};

Bars time_by_collective(const Summary& summary) {
  std::map<std::string, Times> times;
  for (const ServedCalls& calls : summary.served) {
    const double waiting = calls.waiting_seconds.mean * calls.of_ranks;
    times[calls.collective].waiting += waiting;
    times[calls.collective].moving += calls.seconds.mean * calls.of_ranks - waiting;
  }
  for (const PassedCalls& calls : summary.passed) {
    times[calls.collective].passed += calls.seconds.mean * calls.of_ranks;
  }
  std::vector<std::pair<std::string, Times>> sorted(times.begin(), times.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.all() > b.second.all(); });
  Bars bars{.title = "Time by collective, mean of the ranks",
            .parts = {"moving data", "waiting for late ranks", "passed to the MPI"},
            .rows = {},
            .text = seconds_text};
  const auto ranks = static_cast<double>(std::max<std::size_t>(summary.by_rank.size(), 1));
  for (const auto& [name, time] : sorted) {
    bars.rows.push_back({name, {time.moving / ranks, time.waiting / ranks, time.passed / ranks}});
  }
  return bars;
}

Bars bytes_by_size(const Summary& summary) {
  Bars bars{.title = "Bytes by size of the blocks", .parts = {}, .rows = {}, .text = bytes_text};
  std::map<std::uint64_t, std::map<std::string, double>> bytes;  // by size and collective
  for (const ServedCalls& calls : summary.served) {
    if (calls.bytes == 0) continue;
    bytes[calls.block_bytes_at_most][calls.collective] += static_cast<double>(calls.bytes);
    if (std::ranges::find(bars.parts, calls.collective) == bars.parts.end()) {
      bars.parts.push_back(calls.collective);
    }
  }
  for (auto& [most, by_collective] : bytes) {
    Bars::Row row{"to " + bytes_text(static_cast<double>(most)), {}};
    for (const std::string& part : bars.parts) row.values.push_back(by_collective[part]);
    bars.rows.push_back(std::move(row));
  }
  return bars;
}

/// How many ranks become one, so that there are at most `most`.
std::size_t together(std::size_t ranks, std::size_t most) {
  return std::max<std::size_t>(1, (ranks + most - 1) / most);
}

std::string label_of(const Summary& summary, std::size_t first, std::size_t count) {
  const std::size_t last = std::min(first + count, summary.by_rank.size()) - 1;
  const int from = summary.by_rank[first].rank;
  return first == last ? fmt::format("{}", from)
                       : fmt::format("{}-{}", from, summary.by_rank[last].rank);
}

Bars time_by_rank(const Summary& summary) {
  Bars bars{.title = "Time in collectives by rank",
            .parts = {"moving data", "waiting for late ranks", "passed to the MPI", "set-up"},
            .rows = {},
            .text = seconds_text};
  const auto& ranks = summary.by_rank;
  const std::size_t count = together(ranks.size(), kMostBars);
  for (std::size_t first = 0; first < ranks.size(); first += count) {
    const std::size_t end = std::min(first + count, ranks.size());
    Bars::Row row{"rank " + label_of(summary, first, count), {0, 0, 0, 0}};
    for (std::size_t i = first; i < end; ++i) {
      const auto of = static_cast<double>(end - first);
      row.values[0] += std::max(0.0, ranks[i].served_seconds - ranks[i].waiting_seconds) / of;
      row.values[1] += ranks[i].waiting_seconds / of;
      row.values[2] += ranks[i].passed_seconds / of;
      row.values[3] += ranks[i].setup_seconds / of;
    }
    bars.rows.push_back(std::move(row));
  }
  return bars;
}

TrafficMap traffic(const Summary& summary) {
  TrafficMap map{.title = "Who has how much for whom", .labels = {}, .bytes = {}};
  const auto& ranks = summary.by_rank;
  const bool is_known = std::ranges::all_of(
      ranks, [&](const RankTimes& one) { return one.sent.size() == ranks.size(); });
  if (!is_known) return map;
  const std::size_t count = together(ranks.size(), kMostSquares);
  const std::size_t squares = (ranks.size() + count - 1) / count;
  map.bytes.assign(squares, std::vector<double>(squares));
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    for (std::size_t to = 0; to < ranks.size(); ++to) {
      map.bytes[from / count][to / count] += static_cast<double>(ranks[from].sent[to]);
    }
  }
  for (std::size_t first = 0; first < ranks.size(); first += count) {
    map.labels.push_back(label_of(summary, first, count));
  }
  return map;
}

template <class Plot>
std::string figure(const Plot& plot, std::string_view note = {}) {
  std::string html = fmt::format("<figure>\n<h2>{}</h2>\n", escape_html(plot.title));
  if (!note.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  return html + to_svg(plot) + "</figure>\n";
}

std::string table(std::string_view title, std::string_view note, const Grid& grid) {
  return fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}", escape_html(title),
                     escape_html(note), grid.to_html());
}

std::string lead(const Summary& summary) {
  if (summary.served.empty() && summary.passed.empty()) return "No collective was called.";
  double waiting = 0, passed = 0, setup = 0;
  for (const RankTimes& rank : summary.by_rank) {
    waiting += rank.waiting_seconds;
    passed += rank.passed_seconds;
    setup += rank.setup_seconds;
  }
  const double run = total_run(summary);
  return fmt::format(
      "<strong>{}</strong>, of which {} % in collectives: {} % waiting for late ranks, {} % in "
      "set-ups, {} % in calls that were passed to {}.",
      seconds_text(summary.seconds()), share_text(total_in_collectives(summary), run),
      share_text(waiting, run), share_text(setup, run), share_text(passed, run),
      escape_html(summary.host));
}

std::string tables(const Summary& summary) {
  std::string html;
  if (!summary.served.empty()) {
    html += table("Calls served by weft",
                  "Ranks, and nodes where there are several, of the communicator; calls of the "
                  "rank that made most; bytes of all; times of the ranks; the host's: what the MPI "
                  "took for such a call before weft served them.",
                  grid_of_served(summary, kMostRows));
  }
  if (!summary.passed.empty()) {
    html += table("Calls that were passed to the MPI", "Times are the MPI's.",
                  grid_of_passed(summary, kMostRows));
  }
  return html + table("Ranks", "The rank on the right has the most.", grid_of_ranks(summary));
}

}  // namespace

std::string to_html(const Summary& summary) {
  const std::string title =
      fmt::format("{}: {} rank{} on {} node{}", summary.program, summary.ranks,
                  summary.ranks == 1 ? "" : "s", summary.nodes, summary.nodes == 1 ? "" : "s");
  std::string body = fmt::format("<h1>{}</h1>\n<p>{}, {}</p>\n", escape_html(title),
                                 escape_html(summary.host), escape_html(summary.machine));
  if (!summary.complete) {
    body += fmt::format(
        "<p class=\"warning\">The job was ended: of {} of {} ranks alone, what was over by "
        "then.</p>\n",
        summary.by_rank.size(), summary.ranks);
  }
  body += fmt::format("<p class=\"lead\">{}</p>\n", lead(summary));
  if (!summary.served.empty() || !summary.passed.empty()) {
    body += "<div class=\"charts\">\n" + figure(time_by_collective(summary)) +
            figure(bytes_by_size(summary), "Of the inputs of all ranks.") +
            figure(time_by_rank(summary)) +
            figure(traffic(summary),
                   "In alltoall, alltoallv, allgather, broadcast and scatter, where weft served "
                   "them.") +
            "</div>\n" + tables(summary);
  }
  if (!summary.notes.empty()) {
    body += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string& note : summary.notes) {
      body += fmt::format("<li>{}</li>\n", escape_html(note));
    }
    body += "</ul>\n";
  }
  body += fmt::format("<footer>weft {}. docs/read-the-report.md explains the numbers.</footer>\n",
                      kVersion);
  return html_page(title, body);
}

}  // namespace weft::mpi
