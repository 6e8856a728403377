#include "nic_profiles/report/report.hpp"

#include <cstdio>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "nic_profiles/numbers.hpp"
#include "nic_profiles/probe/probe.hpp"
#include "nic_profiles/probe/simulated_target.hpp"
#include "nic_profiles/report/chart.hpp"

namespace weft::nic_profiles::report_test {
namespace {

Report report_of(const Profile& profile, int pairs = 4) {
  SimulatedTarget target(profile, pairs);
  return Report(probe(target));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, IsReadAsTheProfileThatItHolds) {
  const Report report = report_of(load("mt25208"));
  const Profile read = parse("report", to_json(report));
  EXPECT_EQ(to_json(read), to_json(report.profile));
  EXPECT_EQ(read.sources.at("adapter.post_ns"), "probed on the simulated mt25208");
}

TEST(Report, PageNeedsNothingElseAndHasAllNumbers) {
  Profile profile = load("mt25408");
  profile.adapter = "<script>\"&'";
  const std::string page = to_html(report_of(profile));
  for (const char* outside : {"http", "src=", "href=", "url(", "@import", "<script"}) {
    EXPECT_FALSE(has(page, outside)) << outside;
  }
  EXPECT_TRUE(has(page, "&lt;script&gt;&quot;&amp;&#39;"));
  EXPECT_TRUE(has(page, "Two-way bandwidth by concurrent pairs"));
  EXPECT_TRUE(has(page, "offload-scaling"));
  EXPECT_FALSE(has(page, "nan"));
  for (const Number& number : numbers()) EXPECT_TRUE(has(page, "<td>" + number.path() + "</td>"));
}

TEST(Report, ShowsIntervals) {
  SimulatedTarget target(load("mt25408"), 2);
  Measurements taken = probe(target);
  for_each_time(taken, [](double ns, Spread& spread) { spread = {0.9 * ns, 1.1 * ns, 100, 0}; });
  const Report report(std::move(taken));
  const std::string json = to_json(report);
  EXPECT_TRUE(has(json, "\"low\""));
  EXPECT_TRUE(has(json, "\"low_ns\""));
  EXPECT_EQ(parse("report", json).intervals, report.profile.intervals);
  int shown = 0;
  for (const NumberText& number : number_texts(report)) {
    if (number.interval.empty()) continue;
    ++shown;
    EXPECT_TRUE(has(to_table(report), number.interval)) << number.path;
    EXPECT_TRUE(has(to_html(report), "<td>" + number.interval + "</td>")) << number.path;
  }
  EXPECT_GT(shown, 5);
  EXPECT_TRUE(has(to_table(report), "\nsteady: "));
  EXPECT_TRUE(has(to_html(report), "Steady: "));
}

TEST(Report, TableHasTheCurves) {
  const std::string table = to_table(report_of(load("qle7140")));
  EXPECT_TRUE(has(table, "class: onload"));
  EXPECT_TRUE(has(table, "4 MiB"));
  EXPECT_TRUE(has(table, "after receiving (distribution)"));
}

// Wherever a probe is stopped, what there is can be shown, and says that it is not all.
TEST(Report, OfAStoppedProbeSaysSo) {
  for (int part = 0; part < 12; ++part) {
    SimulatedTarget target(load("mt25408"), 2);
    const Report report(
        probe(target, [part](int done, int total) { return 12 * done < part * total; }));
    EXPECT_FALSE(report.measurements.complete);
    EXPECT_TRUE(has(to_html(report), "Partial"));
    EXPECT_TRUE(has(to_table(report), "PARTIAL"));
    EXPECT_THROW(parse("report", to_json(report)), UsageError);
  }
}

TEST(Probe, CountsItsMeasurements) {
  SimulatedTarget target(load("mt25408"), 2);
  int last = -1, most = 0;
  const Measurements measurements = probe(target, [&](int done, int total) {
    EXPECT_EQ(done, last + 1);
    EXPECT_LE(done, total);
    last = done;
    most = total;
    return true;
  });
  EXPECT_TRUE(measurements.complete);
  EXPECT_GE(last + 1, most);
}

TEST(Probe, OfOnePairIsWhole) {
  SimulatedTarget target(load("qle7140"), 1);
  EXPECT_TRUE(probe(target).complete);
  EXPECT_THROW(SimulatedTarget(load("qle7140"), 0), UsageError);
}

/// The position (x, y) of the text `name` in a plot.
std::pair<double, double> place_of(const std::string& svg, const std::string& name) {
  const auto end = svg.find(">" + name + "</text>");
  const auto begin = svg.rfind("<text x=\"", end);
  double x = -1, y = -1;
  EXPECT_EQ(std::sscanf(svg.c_str() + begin, "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2) << name;
  return {x, y};
}

TEST(Chart, KeepsTheNamesOfItsLegendApart) {
  for (const std::size_t letters : {5, 20, 30, 60}) {
    Chart chart{"title", "bytes", "us", true, true, {}};
    for (const char letter : {'a', 'b', 'c'}) {
      chart.series.push_back({std::string(letters, letter), {{1, 1}, {1024, 100}}});
    }
    const std::string svg = to_svg(chart);
    auto before = place_of(svg, chart.series[0].name);
    for (std::size_t i = 1; i < chart.series.size(); ++i) {
      const auto [x, y] = place_of(svg, chart.series[i].name);
      // The next one in a row, or in a row below.
      if (y == before.second) {
        EXPECT_GT(x - before.first, 6.0 * static_cast<double>(letters));
      } else {
        EXPECT_GE(y - before.second, 14);
      }
      before = {x, y};
    }
  }
}

}  // namespace
}  // namespace weft::nic_profiles::report_test
