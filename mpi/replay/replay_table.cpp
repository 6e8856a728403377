#include <fmt/format.h>

#include "mpi/replay/replay_grid.hpp"

namespace weft::mpi {

std::string scaling_rule(const Replay& replay) {
  switch (replay.scaling) {
    case Scaling::none:
      return "The machine is the one where it was recorded: nothing is scaled.";
    case Scaling::weak:
      return "Weak scaling: a rank keeps its part of the data and of the work. Blocks of alltoall "
             "and reduce_scatter shrink as ranks grow in number; all else keeps its size. A "
             "communicator of all ranks, or in a node, becomes one of all ranks, or in a node; "
             "others keep their share of the ranks.";
    case Scaling::strong:
      return "Strong scaling: the job keeps its data and its work. Blocks of alltoall shrink by "
             "the square of the ratio of ranks, those of allgather, gather, scatter and "
             "reduce_scatter by the ratio; vectors that all ranks have keep their size. A "
             "communicator of all ranks, or in a node, becomes one of all ranks, or in a node; "
             "others keep their share of the ranks.";
  }
  return "";
}

Grid grid_of_times(const Replay& replay) {
  Grid grid;
  grid.columns = {{"", false}, {"recorded"}, {"predicted"}, {"ratio"}};
  const auto add = [&](const char* what, double measured, double predicted) {
    grid.rows.push_back({what, seconds_text(measured), seconds_text(predicted),
                         measured > 0 ? fmt::format("{:.2f}", predicted / measured) : "-"});
  };
  const Times &was = replay.measured, &is = replay.predicted;
  add("collectives", was.calls, is.calls);
  add("  waiting for late ranks", was.waiting, is.waiting);
  add("  moving data", was.calls - was.waiting, is.calls - is.waiting);
  add("the program's own work", was.work, is.work);
  add("whole run, longest rank", was.run, is.run);
  return grid;
}

Grid grid_of_calls(const Replay& replay, std::size_t most) {
  Grid grid;
  grid.columns = {{"collective", false},
                  {"ranks"},
                  {"bytes"},
                  {"ranks there"},
                  {"bytes there"},
                  {"calls"},
                  {"recorded"},
                  {"predicted"},
                  {"waiting"},
                  {"a call"},
                  {"weft's choice", false},
                  {"fastest", false}};
  const auto size = [](const std::optional<std::uint64_t>& bytes, bool is_mean) {
    if (!bytes) return std::string("-");
    return (is_mean ? "~" : "") + bytes_text(static_cast<double>(*bytes));
  };
  for (const ReplayedCalls& calls : replay.calls) {
    if (grid.rows.size() == most) break;
    const bool known = !calls.choices.empty();
    grid.rows.push_back(
        {calls.collective, shape_text(calls.here), size(calls.bytes_here, calls.irregular),
         shape_text(calls.there), size(calls.bytes_there, calls.irregular),
         fmt::format("{:.0f}", calls.calls), seconds_text(calls.measured_seconds),
         seconds_text(calls.seconds), share_text(calls.waiting_seconds, calls.seconds),
         known ? seconds_text(calls.taken()->seconds) : "-",
         known ? calls.taken()->algorithm : "as measured: " + calls.as_measured,
         known ? fmt::format("{} {}", calls.choices.front().algorithm,
                             seconds_text(calls.choices.front().seconds))
               : ""});
  }
  return grid;
}

std::string to_table(const Replay& replay, std::size_t most_lines) {
  std::string text =
      fmt::format("{}: recorded on {} ({}), predicted for {} with {}\n\n",
                  replay.program.empty() ? "?" : replay.program, replay.machine_here,
                  replay.host.empty() ? "?" : replay.host, replay.machine_there, replay.adapter);
  text += "of a rank, the mean of all\n" + grid_of_times(replay).to_text();
  text += fmt::format("\nwaiting: {} % of the time in collectives there, {} % where recorded\n\n",
                      share_text(replay.predicted.waiting, replay.predicted.calls),
                      share_text(replay.measured.waiting, replay.measured.calls));
  text += grid_of_calls(replay, most_lines).to_text();
  if (replay.calls.size() > most_lines) {
    text += fmt::format("  and {} more\n", replay.calls.size() - most_lines);
  }
  text += "\n" + scaling_rule(replay) + "\n";
  for (const std::string& note : replay.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace weft::mpi
