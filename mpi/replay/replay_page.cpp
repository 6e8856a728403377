#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/html_page.hpp"
#include "base/installation.hpp"
#include "base/svg.hpp"
#include "mpi/replay/replay_grid.hpp"
#include "mpi/summary/plots.hpp"

namespace weft::mpi {

namespace {

constexpr std::size_t kMostRows = 200;
constexpr double kWidth = 480, kLeft = 60, kRow = 18, kTop = 22;

std::string figure(const std::string& title, std::string_view note, const std::string& svg) {
  return fmt::format("<figure>\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n{}</figure>\n",
                     escape_html(title), escape_html(note), svg);
}

Bars bars(std::string title) {
  return {.title = std::move(title),
          .parts = {"moving data", "waiting for late ranks"},
          .rows = {},
          .text = seconds_text};
}

std::string by_collective(const Replay& replay) {
  std::map<std::string, std::pair<double, double>> there, here;
  for (const ReplayedCalls& calls : replay.calls) {
    auto& [moving, waiting] = there[calls.collective];
    moving += calls.seconds - calls.waiting_seconds;
    waiting += calls.waiting_seconds;
    auto& [was_moving, was_waiting] = here[calls.collective];
    was_moving += calls.measured_seconds - calls.measured_waiting_seconds;
    was_waiting += calls.measured_waiting_seconds;
  }
  Bars plot = bars("Time by collective, mean of the ranks");
  for (const auto& [name, time] : there) {
    const auto& was = here[name];
    plot.rows.push_back({name, {time.first, time.second}});
    plot.rows.push_back({"  recorded", {was.first, was.second}});
  }
  return figure(plot.title, "Predicted, and below it as recorded.", to_svg(plot));
}

std::string by_size(const Replay& replay) {
  std::map<std::uint64_t, std::pair<double, double>> sizes;
  for (const ReplayedCalls& calls : replay.calls) {
    if (!calls.bytes_there) continue;
    auto& [moving, waiting] = sizes[*calls.bytes_there];
    moving += calls.seconds - calls.waiting_seconds;
    waiting += calls.waiting_seconds;
  }
  Bars plot = bars("Predicted time by size there");
  for (const auto& [bytes, time] : sizes) {
    plot.rows.push_back({bytes_text(static_cast<double>(bytes)), {time.first, time.second}});
  }
  return figure(plot.title, "Bytes of a block, or of a vector.", to_svg(plot));
}

std::string timeline(const Replay& replay) {
  const double height = kTop + kRow * static_cast<double>(replay.timeline.size()) + 4;
  const std::string title = "Timeline of the predicted run";
  Svg svg(
      fmt::format(R"(viewBox="0 0 {:g} {:g}" role="img" aria-label="{}")", kWidth, height, title));
  svg.title(title);
  svg.text(kLeft, 12, "0");
  svg.text(kWidth, 12, seconds_text(replay.predicted.run), R"(text-anchor="end")");
  const double each = (kWidth - kLeft) / static_cast<double>(Replay::kTimelineParts);
  double y = kTop;
  for (const RankTimeline& one : replay.timeline) {
    svg.text(kLeft - 6, y + kRow - 6, fmt::format("rank {}", one.rank), R"(text-anchor="end")");
    svg.rectangle(kLeft, y, kWidth - kLeft, kRow - 2,
                  fmt::format(R"(style="fill:{};fill-opacity:0.06")", page_colour(0)));
    for (std::size_t part = 0; part < one.moving.size(); ++part) {
      const double x = kLeft + each * static_cast<double>(part);
      const double moving = std::min(1.0, one.moving[part]) * (kRow - 2);
      const double waiting =
          std::min(1.0 - std::min(1.0, one.moving[part]), one.waiting[part]) * (kRow - 2);
      const double bottom = y + kRow - 2;
      if (moving >= 0.1) {
        svg.rectangle(x, bottom - moving, each, moving,
                      fmt::format(R"(style="fill:{}")", page_colour(0)));
      }
      if (waiting >= 0.1) {
        svg.rectangle(x, bottom - moving - waiting, each, waiting,
                      fmt::format(R"(style="fill:{}")", page_colour(1)));
      }
    }
    y += kRow;
  }
  return figure(title,
                "From left to right the run; the height is the part of the time that a rank moves "
                "data (below) and waits for late ranks (above). The rest is its own work.",
                std::move(svg).finish());
}

std::string lead(const Replay& replay) {
  return fmt::format(
      "{} in collectives, of which {} % are waiting for late ranks, and {} of its own work, of a "
      "rank. Where it was recorded: {}, {} % and {}.",
      seconds_text(replay.predicted.calls),
      share_text(replay.predicted.waiting, replay.predicted.calls),
      seconds_text(replay.predicted.work), seconds_text(replay.measured.calls),
      share_text(replay.measured.waiting, replay.measured.calls),
      seconds_text(replay.measured.work));
}

std::string choices(const Replay& replay) {
  Grid grid;
  grid.columns = {{"collective", false}, {"ranks there"}, {"bytes there"},
                  {"algorithm", false},  {"a call"},      {"how", false}};
  for (const ReplayedCalls& calls : replay.calls) {
    for (const Choice& one : calls.choices) {
      if (grid.rows.size() == kMostRows) break;
      grid.rows.push_back(
          {calls.collective, shape_text(calls.there),
           calls.bytes_there ? bytes_text(static_cast<double>(*calls.bytes_there)) : "-",
           one.algorithm, seconds_text(one.seconds),
           fmt::format("{}{}", one.simulated ? "simulated" : "estimated",
                       one.taken ? ", weft's choice" : "")});
    }
  }
  return grid.to_html();
}

}  // namespace

std::string to_html(const Replay& replay) {
  const std::string title =
      fmt::format("{} on {} with {}", replay.program, replay.machine_there, replay.adapter);
  std::string body =
      fmt::format("<h1>{}</h1>\n<p>Recorded on {}, {}</p>\n<p class=\"lead\">{}</p>\n<p>{}</p>\n",
                  escape_html(title), escape_html(replay.machine_here), escape_html(replay.host),
                  lead(replay), escape_html(scaling_rule(replay)));
  body += "<div class=\"charts\">\n" + by_collective(replay) + by_size(replay) + timeline(replay) +
          "</div>\n";
  body += "<h2>Times</h2>\n<p class=\"note\">Of a rank, the mean of all.</p>\n" +
          grid_of_times(replay).to_html();
  body += "<h2>Calls</h2>\n" + grid_of_calls(replay, kMostRows).to_html();
  body += "<h2>Choices</h2>\n" + choices(replay);
  if (!replay.notes.empty()) {
    body += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string& note : replay.notes) {
      body += fmt::format("<li>{}</li>\n", escape_html(note));
    }
    body += "</ul>\n";
  }
  body += fmt::format("<footer>weft {}. docs/replay-elsewhere.md explains the numbers.</footer>\n",
                      kVersion);
  return html_page(title, body);
}

}  // namespace weft::mpi
