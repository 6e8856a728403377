#include "nic_profiles/report/report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nic_profiles/fit/fit.hpp"
#include "nic_profiles/fit/intervals.hpp"
#include "nic_profiles/numbers.hpp"
#include "nic_profiles/value_text.hpp"

namespace weft::nic_profiles {

namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::written:
      return "written by a core";
    case Origin::fresh:
      return "written by the adapter";
    case Origin::memory:
      return "memory";
  }
  return "";
}

/// A time with its interval.
Json time_of(double ns, const Spread& spread) {
  Json json = {{"time_ns", ns}};
  if (spread.repeats == 0) return json;
  json["low_ns"] = spread.low_ns;
  json["high_ns"] = spread.high_ns;
  json["repeats"] = spread.repeats;
  json["others"] = spread.others;
  return json;
}

Json with(Json what, double ns, const Spread& spread) {
  what.update(time_of(ns, spread));
  return what;
}

/// Where there is one: of signals, and of turns.
Json only(const std::vector<Estimate>& list) {
  return list.empty() ? Json() : time_of(list.front().ns, list.front().spread);
}

Json timings(const std::vector<Timing>& list) {
  Json json = Json::array();
  for (const Timing& timing : list) {
    json.push_back(with({{"bytes", timing.bytes}}, timing.ns, timing.spread));
  }
  return json;
}

Json timings(const std::vector<StreamTiming>& list) {
  Json json = Json::array();
  for (const StreamTiming& timing : list) {
    const Json what = {
        {"senders", timing.stream.senders},     {"receivers", timing.stream.receivers},
        {"both_ways", timing.stream.both_ways}, {"bytes", timing.stream.bytes},
        {"messages", timing.stream.messages},   {"messages_per_s", timing.messages_per_s()},
        {"bytes_per_ns", timing.bytes_per_ns()}};
    json.push_back(with(what, timing.ns, timing.spread));
  }
  return json;
}

Json timings(const std::vector<CopyTiming>& list) {
  Json json = Json::array();
  for (const CopyTiming& timing : list) {
    const Json what = {{"from", to_string(timing.copy.origin)},
                       {"cores", timing.copy.cores},
                       {"bytes", timing.copy.bytes},
                       {"blocks", timing.copy.blocks},
                       {"after_bytes", timing.copy.since_bytes}};
    json.push_back(with(what, timing.ns, timing.spread));
  }
  return json;
}

Json core_use(const CoreUse& use) {
  return {{"seconds", use.seconds},   {"cores", use.cores},         {"others_s", use.others_s},
          {"stolen_s", use.stolen_s}, {"preempted", use.preempted}, {"load", use.load}};
}

Json steadiness(const Steadiness& seen, const CoreUse& use) {
  return {{"steady", seen.why_not.empty()},
          {"why_not", seen.why_not},
          {"measurements", seen.taken},
          {"disturbed", seen.disturbed},
          {"wide", seen.wide},
          {"hurried", seen.hurried},
          {"loose", seen.loose},
          {"cores", core_use(use)}};
}

}  // namespace

Report::Report(Measurements taken)
    : measurements(std::move(taken)),
      classification(classify(measurements)),
      profile(fit(measurements)) {
  profile.intervals = intervals(measurements, profile);
  steadiness = judge(measurements, profile);
}

std::string to_json(const Report& report) {
  const Measurements& taken = report.measurements;
  Json json = {{"complete", taken.complete},
               {"source", taken.source},
               {"class",
                {{"name", to_string(report.classification.kind)},
                 {"confidence", report.classification.confidence},
                 {"reason", report.classification.reason}}},
               {"profile", Json::parse(to_json(report.profile))}};
  json["steadiness"] = steadiness(report.steadiness, taken.use);
  Json& measured = json["measurements"];
  measured["latency"] = timings(taken.latency);
  measured["send_busy"] = timings(taken.send_busy);
  measured["into_caller"] = timings(taken.into_caller);
  measured["rates"] = timings(taken.rates);
  measured["bandwidths"] = timings(taken.bandwidths);
  measured["copies"] = timings(taken.copies);
  measured["reductions"] = timings(taken.reductions);
  measured["registrations"] = timings(taken.registrations);
  measured["calls"] = timings(taken.calls);
  measured["signal"] = only(taken.signal);
  measured["turn"] = only(taken.turn);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string steadiness_text(const Report& report) {
  const Steadiness& seen = report.steadiness;
  const CoreUse& use = report.measurements.use;
  if (report.profile.intervals.empty()) return "exact: nothing was repeated";
  std::string text = seen.why_not.empty() ? "yes" : "no: " + seen.why_not;
  text += fmt::format("; intervals of {} of {} measurements are wider than 10 %", seen.wide,
                      seen.taken);
  if (use.seconds <= 0) return text;
  return text + fmt::format(
                    "; of {} cores other programs had {:.2f} and a hypervisor {:.2f} in {:.0f} s, "
                    "ranks lost theirs {} times; load before {:.2f}",
                    use.cores, std::max(0.0, use.others_s / use.seconds),
                    use.stolen_s / use.seconds, use.seconds, use.preempted, use.load);
}

std::vector<NumberText> number_texts(const Report& report) {
  const Profile& profile = report.profile;
  const std::string& own = report.measurements.source;
  std::vector<NumberText> texts;
  for (const Number& number : numbers()) {
    const auto found = profile.sources.find(number.path());
    std::string source = found == profile.sources.end() ? "unknown" : found->second;
    if (!own.empty() && source.starts_with(own)) source.replace(0, own.size(), "measured");
    std::string interval;
    if (const auto known = profile.intervals.find(number.path());
        known != profile.intervals.end()) {
      interval = fmt::format("{} to {}", value_text(number, known->second.low),
                             value_text(number, known->second.high));
    }
    texts.push_back({number.path(), value_text(number, profile.hardware), interval, source});
  }
  return texts;
}

}  // namespace weft::nic_profiles
