#include "nic_profiles/report/curves.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace weft::nic_profiles {

namespace {

Series times_us(std::string name, const std::vector<Timing>& timings) {
  Series series{std::move(name), {}};
  for (const Timing& timing : timings) {
    series.points.emplace_back(static_cast<double>(timing.bytes), timing.ns / 1e3);
  }
  std::ranges::sort(series.points);
  return series;
}

}  // namespace

Chart bandwidth_chart(const Measurements& measurements, bool both_ways) {
  std::map<int, Series> by_pairs;
  for (const StreamTiming& timing : measurements.bandwidths) {
    const Stream& stream = timing.stream;
    if (stream.both_ways != both_ways || timing.ns <= 0) continue;
    Series& series = by_pairs[stream.senders];
    series.name = fmt::format("{} pair{}", stream.senders, stream.senders == 1 ? "" : "s");
    series.points.emplace_back(static_cast<double>(stream.bytes), timing.bytes_per_ns());
  }
  Chart chart{
      both_ways ? "Two-way bandwidth by concurrent pairs" : "One-way bandwidth by concurrent pairs",
      "message size, bytes",
      "GB/s",
      true,
      false,
      {}};
  for (auto& [pairs, series] : by_pairs) chart.series.push_back(std::move(series));
  return chart;
}

Chart copy_chart(const Measurements& measurements) {
  Series aggregation{"before sending (aggregation)", {}};
  Series distribution{"after receiving (distribution)", {}};
  // Those by all cores; on a target of one pair, all are.
  int cores = 1;
  for (const CopyTiming& timing : measurements.copies) cores = std::max(cores, timing.copy.cores);
  for (const CopyTiming& timing : measurements.copies) {
    if (timing.copy.cores != cores || timing.copy.blocks != 1) continue;
    if (timing.copy.origin == Origin::memory) continue;
    Series& series = timing.copy.origin == Origin::written ? aggregation : distribution;
    series.points.emplace_back(static_cast<double>(timing.copy.bytes), timing.ns / 1e3);
  }
  Chart chart{"Copies of aggregation and of distribution", "bytes a core", "us", true, true, {}};
  for (Series* series : {&aggregation, &distribution}) {
    std::ranges::sort(series->points);
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

Chart rate_chart(const Measurements& measurements) {
  Series series{"each to a core of its own", {}};
  for (const StreamTiming& timing : measurements.rates) {
    if (timing.stream.senders != timing.stream.receivers || timing.ns <= 0) continue;
    series.points.emplace_back(timing.stream.senders, timing.messages_per_s() / 1e6);
  }
  Chart chart{"Rate of 8-byte messages", "senders", "million messages a second", false, false, {}};
  if (!series.points.empty()) chart.series.push_back(std::move(series));
  return chart;
}

Chart latency_chart(const Measurements& measurements) {
  Chart chart{
      "Latency, and how long a send keeps its core", "message size, bytes", "us", true, true, {}};
  if (!measurements.latency.empty()) {
    chart.series.push_back(times_us("half a round trip", measurements.latency));
  }
  if (!measurements.send_busy.empty()) {
    chart.series.push_back(times_us("the sending core", measurements.send_busy));
  }
  return chart;
}

std::vector<Chart> charts(const Measurements& measurements) {
  return {bandwidth_chart(measurements, true), bandwidth_chart(measurements, false),
          latency_chart(measurements), rate_chart(measurements), copy_chart(measurements)};
}

}  // namespace weft::nic_profiles
