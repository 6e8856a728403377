// The summary of a job: merged, written, read, shown and compared.
#include "mpi/summary/summary.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/summary/comparison.hpp"

namespace weft::mpi::summary_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::uint64_t up_to(std::uint64_t most) {
  return *rc::gen::inRange<std::uint64_t>(0, most);
}

double seconds() {
  return static_cast<double>(up_to(1 << 20)) / 1024;
}

/// What a rank of `ranks` counted: few kinds of calls, so that ranks have some in common.
Summary draw_rank(int rank, int ranks) {
  Summary summary;
  summary.program = "prog<ram>";
  summary.host = "MPI & Co";
  summary.machine = "2x2";
  summary.ranks = ranks;
  summary.nodes = 2;
  RankTimes& times = summary.by_rank.emplace_back();
  times.rank = rank;
  times.seconds = 1000 + seconds();
  for (const char* collective : {"alltoall", "barrier"}) {
    for (const std::uint64_t size : {0, 64, 4096}) {
      if (up_to(3) == 0) continue;
      ServedCalls calls{.collective = collective,
                        .algorithm = up_to(2) == 0 ? "sa" : "rd:direct=1",
                        .shape = {ranks, 2},
                        .block_bytes_at_most = size,
                        .calls = 1 + up_to(1000),
                        .bytes = up_to(1 << 30),
                        .messages = up_to(100),
                        .wire_bytes = up_to(1 << 20),
                        .of_ranks = 1,
                        .seconds = Spread::of(seconds()),
                        .waiting_seconds = {}};
      calls.waiting_seconds = Spread::of(calls.seconds.most / 4);
      times.served_seconds += calls.seconds.most;
      times.waiting_seconds += calls.waiting_seconds.most;
      times.bytes += calls.bytes;
      summary.served.push_back(std::move(calls));
    }
  }
  if (up_to(2) == 0) {
    summary.passed.push_back(
        {.collective = "reduce",
         .why = "a \"reason\"",
         .shape = {},
         .block_bytes_at_most = up_to(2) == 0 ? std::optional<std::uint64_t>(64) : std::nullopt,
         .calls = 1 + up_to(10),
         .of_ranks = 1,
         .seconds = Spread::of(seconds())});
    times.passed_seconds += summary.passed.back().seconds.most;
  }
  for (int to = 0; to < ranks; ++to) times.sent.push_back(up_to(1 << 20));
  if (up_to(2) == 0) summary.notes = {"<note>"};
  summary.connections = up_to(5);
  summary.cma_bytes = up_to(1000);
  return summary;
}

std::vector<Summary> draw_ranks() {
  const int ranks = *rc::gen::inRange(1, 6);
  std::vector<Summary> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(draw_rank(rank, ranks));
  return all;
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

RC_GTEST_PROP(Summary, IsReadAsItWasWritten, ()) {
  const std::string text = to_json(merge(draw_ranks()));
  RC_ASSERT(to_json(parse_summary("file", text)) == text);
}

// Whatever is taken from a report, or has another type, is missed or refused by its path.
RC_GTEST_PROP(Summary, OfAnythingElseIsRefused, ()) {
  nlohmann::json json = nlohmann::json::parse(to_json(merge(draw_ranks())));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) {
    if (key != "weft") keys.push_back(key);
  }
  const std::string key = *rc::gen::elementOf(keys);
  switch (up_to(3)) {
    case 0:
      json.erase(key);
      break;
    case 1:
      json[key] = -1;
      break;
    default:
      json["another"] = 1;
  }
  try {
    parse_summary("file", json.dump());
    RC_FAIL("taken: " + json.dump());
  } catch (const UsageError& error) {
    RC_ASSERT(has(error.what(), "file: "));
  }
}

RC_GTEST_PROP(Summary, OfAllRanksHasTheirSumsAndSpreads, ()) {
  const std::vector<Summary> ranks = draw_ranks();
  const Summary all = merge(ranks);
  RC_ASSERT(all.by_rank.size() == ranks.size());
  std::uint64_t bytes = 0, counted = 0;
  double seconds = 0, counted_seconds = 0;
  for (const Summary& rank : ranks) {
    bytes += rank.by_rank[0].bytes;
    seconds += rank.by_rank[0].served_seconds;
  }
  for (const ServedCalls& calls : all.served) {
    counted += calls.bytes;
    counted_seconds += calls.seconds.mean * calls.of_ranks;
    RC_ASSERT(calls.seconds.least <= calls.seconds.mean * (1 + 1e-9));
    RC_ASSERT(calls.seconds.mean <= calls.seconds.most * (1 + 1e-9));
    RC_ASSERT(calls.of_ranks <= static_cast<int>(ranks.size()));
  }
  RC_ASSERT(counted == bytes);
  RC_ASSERT(is_near(counted_seconds, seconds));
}

// No run, and no part of it, is so small or odd that it cannot be shown.
RC_GTEST_PROP(Summary, PageNeedsNothingElse, ()) {
  const Summary all = merge(draw_ranks());
  const std::string page = to_html(all);
  for (const char* outside :
       {"http", "src=", "href=", "url(", "@import", "<script", "nan", "inf"}) {
    RC_ASSERT(!has(page, outside));
  }
  RC_ASSERT(has(page, "prog&lt;ram&gt;"));
  RC_ASSERT(!has(page, "<note>"));
  RC_ASSERT(!has(to_table(all), "nan"));
}

TEST(Summary, OfNothingSaysSo) {
  Summary summary;
  summary.program = "p";
  summary.host = "h";
  summary.machine = "1x1";
  summary.by_rank.push_back({.rank = 0, .seconds = 2, .sent = {0}});
  EXPECT_TRUE(has(to_table(summary), "no collective was called"));
  EXPECT_TRUE(has(to_html(summary), "No collective was called."));
  summary.complete = false;
  EXPECT_TRUE(has(to_table(summary), "The job was ended: of 1 rank"));
}

RC_GTEST_PROP(Comparison, OfARunWithItselfShowsNoDifference, ()) {
  const Summary all = merge(draw_ranks());
  const Comparison comparison = compare(all, all);
  double seconds = 0;
  for (const RankTimes& rank : all.by_rank) seconds += rank.served_seconds + rank.passed_seconds;
  double by_collective = 0, by_size = 0;
  for (const auto& calls : comparison.by_collective) by_collective += calls.before.seconds;
  for (const auto& calls : comparison.by_size) {
    by_size += calls.after.seconds;
    RC_ASSERT(calls.before.seconds == calls.after.seconds);
    RC_ASSERT(calls.before.ways == calls.after.ways);
  }
  const auto ranks = static_cast<double>(all.by_rank.size());
  RC_ASSERT(is_near(by_collective, seconds / ranks));
  RC_ASSERT(is_near(by_size, seconds / ranks));
  RC_ASSERT(!has(to_table(comparison), "->"));
}

TEST(Comparison, NamesWhatChangedMostFirst) {
  const auto run = [](double alltoall, double barrier, const char* algorithm) {
    Summary summary;
    summary.by_rank.push_back({.rank = 0, .seconds = 10, .sent = {}});
    for (const auto& [name, time] : {std::pair{"barrier", barrier}, {"alltoall", alltoall}}) {
      summary.served.push_back({.collective = name,
                                .algorithm = algorithm,
                                .shape = {4, 1},
                                .calls = 5,
                                .seconds = Spread::of(time),
                                .waiting_seconds = {}});
    }
    return summary;
  };
  const Comparison comparison = compare(run(4, 1, "sa"), run(2, 1.5, "rd"));
  EXPECT_EQ(comparison.by_size[0].collective, "alltoall");
  EXPECT_EQ(comparison.by_collective[1].collective, "barrier");
  const std::string table = to_table(comparison);
  EXPECT_TRUE(has(table, "0.50"));
  EXPECT_TRUE(has(table, "1.50"));
  EXPECT_TRUE(has(table, "sa -> rd"));
}

}  // namespace
}  // namespace weft::mpi::summary_test
