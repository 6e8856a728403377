#include "nic_profiles/report/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nic_profiles/fit/fit.hpp"
#include "nic_profiles/numbers.hpp"

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

Json timings(const std::vector<Timing>& list) {
  Json json = Json::array();
  for (const Timing& timing : list) {
    json.push_back({{"bytes", timing.bytes}, {"time_ns", timing.ns}});
  }
  return json;
}

Json timings(const std::vector<StreamTiming>& list) {
  Json json = Json::array();
  for (const StreamTiming& timing : list) {
    json.push_back({{"senders", timing.stream.senders},
                    {"receivers", timing.stream.receivers},
                    {"both_ways", timing.stream.both_ways},
                    {"bytes", timing.stream.bytes},
                    {"messages", timing.stream.messages},
                    {"time_ns", timing.ns},
                    {"messages_per_s", timing.messages_per_s()},
                    {"bytes_per_ns", timing.bytes_per_ns()}});
  }
  return json;
}

Json timings(const std::vector<CopyTiming>& list) {
  Json json = Json::array();
  for (const CopyTiming& timing : list) {
    json.push_back({{"from", to_string(timing.copy.origin)},
                    {"cores", timing.copy.cores},
                    {"bytes", timing.copy.bytes},
                    {"blocks", timing.copy.blocks},
                    {"after_bytes", timing.copy.since_bytes},
                    {"time_ns", timing.ns}});
  }
  return json;
}

std::string value_text(const Number& number, const sim::Hardware& hardware) {
  const auto write = [&](auto* place) -> std::string {
    const auto& value = place(const_cast<sim::Hardware&>(hardware));  // NOLINT: as in profile.cpp
    using Type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, sim::Scaling>) {
      std::string text;
      for (const auto& point : value.points) {
        text += fmt::format("{}{}: {:.3g}", text.empty() ? "" : ", ", point.senders, point.total);
      }
      return text;
    } else if constexpr (std::is_same_v<Type, bool>) {
      return value ? "yes" : "no";
    } else if constexpr (std::is_same_v<Type, double>) {
      return number.key.ends_with("bytes_per_ns")  ? fmt::format("{:.4g} GB/s", value)
             : number.key.ends_with("ns_per_byte") ? fmt::format("{:.3g} ns/B", value)
                                                   : time_text(value);
    } else {
      if (number.all_sizes && static_cast<std::uint64_t>(value) == sim::Adapter::kAllSizes) {
        return "all sizes";
      }
      return number.key.ends_with("bytes") ? size_text(static_cast<std::uint64_t>(value))
                                           : fmt::format("{}", value);
    }
  };
  return std::visit(write, number.place);
}

}  // namespace

Report::Report(Measurements taken)
    : measurements(std::move(taken)),
      classification(classify(measurements)),
      profile(fit(measurements)) {}

std::string to_json(const Report& report) {
  const Measurements& taken = report.measurements;
  Json json = {{"complete", taken.complete},
               {"source", taken.source},
               {"class",
                {{"name", to_string(report.classification.kind)},
                 {"confidence", report.classification.confidence},
                 {"reason", report.classification.reason}}},
               {"profile", Json::parse(to_json(report.profile))}};
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
  measured["signal_ns"] = taken.signal_ns ? Json(*taken.signal_ns) : Json();
  measured["turn_ns"] = taken.turn_ns ? Json(*taken.turn_ns) : Json();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  return fmt::format("{:.4g} ms", ns / 1e6);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::vector<NumberText> number_texts(const Report& report) {
  const Profile& profile = report.profile;
  const std::string& own = report.measurements.source;
  std::vector<NumberText> texts;
  for (const Number& number : numbers()) {
    const auto found = profile.sources.find(number.path());
    std::string source = found == profile.sources.end() ? "unknown" : found->second;
    if (!own.empty() && source.starts_with(own)) source.replace(0, own.size(), "measured");
    texts.push_back({number.path(), value_text(number, profile.hardware), source});
  }
  return texts;
}

}  // namespace weft::nic_profiles
