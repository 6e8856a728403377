#include "mpi/summary/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace weft::mpi {

namespace {

using Key = std::tuple<std::string, Shape, std::optional<std::uint64_t>>;
using Sides = std::map<Key, std::array<Done, 2>>;

double ranks_of(const Summary& summary) {
  return static_cast<double>(std::max<std::size_t>(summary.by_rank.size(), 1));
}

void add_way(Done& done, const std::string& way) {
  if (std::ranges::find(done.ways, way) == done.ways.end()) done.ways.push_back(way);
}

void add(Done& done, const Summary& summary, const ServedCalls& calls) {
  const double part = calls.of_ranks / ranks_of(summary);
  done.calls += calls.calls;
  done.bytes += calls.bytes;
  done.seconds += calls.seconds.mean * part;
  done.waiting_seconds += calls.waiting_seconds.mean * part;
  add_way(done, calls.algorithm);
}

void add(Done& done, const Summary& summary, const PassedCalls& calls) {
  const double seconds = calls.seconds.mean * calls.of_ranks / ranks_of(summary);
  done.calls += calls.calls;
  done.seconds += seconds;
  done.passed_seconds += seconds;
  add_way(done, "passed: " + calls.why);
}

template <class KeyOf>
std::vector<ComparedCalls> sorted(const Summary& before, const Summary& after, KeyOf key_of) {
  Sides sides;
  const Summary* const summaries[] = {&before, &after};
  for (std::size_t side = 0; side < 2; ++side) {
    for (const ServedCalls& calls : summaries[side]->served) {
      add(sides[key_of(calls)][side], *summaries[side], calls);
    }
    for (const PassedCalls& calls : summaries[side]->passed) {
      add(sides[key_of(calls)][side], *summaries[side], calls);
    }
  }
  std::vector<ComparedCalls> all;
  for (const auto& [key, done] : sides) {
    all.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), done[0], done[1]});
  }
  const auto difference = [](const ComparedCalls& calls) {
    return std::abs(calls.after.seconds - calls.before.seconds);
  };
  std::ranges::stable_sort(all, [&](const ComparedCalls& a, const ComparedCalls& b) {
    return difference(a) > difference(b);
  });
  return all;
}

ComparedTimes times(const char* what, const Summary& before, const Summary& after,
                    double RankTimes::*part) {
  const auto mean = [&](const Summary& summary) {
    double all = 0;
    for (const RankTimes& rank : summary.by_rank) all += rank.*part;
    return all / ranks_of(summary);
  };
  return {what, mean(before), mean(after)};
}

std::string ratio_text(double before, double after) {
  return before > 0 ? fmt::format("{:.2f}", after / before) : "-";
}

std::string ways_text(const ComparedCalls& calls) {
  auto before = fmt::format("{}", fmt::join(calls.before.ways, ", "));
  const auto after = fmt::format("{}", fmt::join(calls.after.ways, ", "));
  if (before == after) return before;
  return fmt::format("{} -> {}", before.empty() ? "none" : before, after.empty() ? "none" : after);
}

Grid grid_of(const std::vector<ComparedCalls>& all, std::size_t most, bool is_by_size) {
  Grid grid{.columns = {{"collective", false}}, .rows = {}};
  if (is_by_size) {
    grid.columns.push_back({"ranks"});
    grid.columns.push_back({"block to"});
  }
  for (const char* title :
       {"calls", "after", "bytes", "after", "seconds", "after", "ratio", "waiting", "after"}) {
    grid.columns.push_back({title});
  }
  grid.columns.push_back({"by", false});
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
    const ComparedCalls& calls = all[i];
    std::vector<std::string> row = {calls.collective};
    if (is_by_size) {
      row.push_back(shape_text(calls.shape));
      row.push_back(calls.block_bytes_at_most
                        ? bytes_text(static_cast<double>(*calls.block_bytes_at_most))
                        : "-");
    }
    const Done& before = calls.before;
    const Done& after = calls.after;
    for (const std::uint64_t count : {before.calls, after.calls}) {
      row.push_back(fmt::format("{}", count));
    }
    for (const std::uint64_t bytes : {before.bytes, after.bytes}) {
      row.push_back(bytes_text(static_cast<double>(bytes)));
    }
    row.push_back(seconds_text(before.seconds));
    row.push_back(seconds_text(after.seconds));
    row.push_back(ratio_text(before.seconds, after.seconds));
    row.push_back(seconds_text(before.waiting_seconds));
    row.push_back(seconds_text(after.waiting_seconds));
    row.push_back(ways_text(calls));
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

}  // namespace

Comparison compare(const Summary& before, const Summary& after) {
  Comparison comparison;
  comparison.times = {times("whole run", before, after, &RankTimes::seconds),
                      times("calls served by weft", before, after, &RankTimes::served_seconds),
                      times("  waiting for late ranks", before, after, &RankTimes::waiting_seconds),
                      times("set-up", before, after, &RankTimes::setup_seconds),
                      times("calls passed through", before, after, &RankTimes::passed_seconds)};
  comparison.by_collective = sorted(before, after, [](const auto& calls) {
    return Key{calls.collective, Shape{}, std::nullopt};
  });
  comparison.by_size = sorted(before, after, [](const auto& calls) {
    return Key{calls.collective, calls.shape, calls.block_bytes_at_most};
  });
  return comparison;
}

std::string to_table(const Comparison& comparison, std::size_t most_lines) {
  Grid times{.columns = {{"mean of the ranks", false}, {"before"}, {"after"}, {"ratio"}},
             .rows = {}};
  for (const ComparedTimes& one : comparison.times) {
    times.rows.push_back({one.what, seconds_text(one.before), seconds_text(one.after),
                          ratio_text(one.before, one.after)});
  }
  std::string text = times.to_text();
  if (comparison.by_collective.empty()) return text + "\n  no collective was called\n";
  text += "\n" + grid_of(comparison.by_collective, most_lines, false).to_text();
  text += "\n" + grid_of(comparison.by_size, most_lines, true).to_text();
  if (comparison.by_size.size() > most_lines) {
    text += fmt::format("  and {} more that differ less\n", comparison.by_size.size() - most_lines);
  }
  return text;
}

}  // namespace weft::mpi
