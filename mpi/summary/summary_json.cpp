#include <nlohmann/json.hpp>

#include "base/installation.hpp"
#include "base/json_value.hpp"
#include "mpi/summary/summary.hpp"

namespace weft::mpi {

namespace {

constexpr double kMost = 0x1p64;
constexpr double kMostSeconds = 1e12;  // far beyond any job

void put(Json& object, const std::string& name, const Spread& spread) {
  object[name] = spread.most;
  object[name + "_mean"] = spread.mean;
  object[name + "_least"] = spread.least;
}

Json to_object(const ServedCalls& calls) {
  Json object = {{"collective", calls.collective},
                 {"algorithm", calls.algorithm},
                 {"ranks", calls.shape.ranks},
                 {"nodes", calls.shape.nodes},
                 {"block_bytes_at_most", calls.block_bytes_at_most},
                 {"calls", calls.calls},
                 {"bytes", calls.bytes},
                 {"messages", calls.messages},
                 {"wire_bytes", calls.wire_bytes},
                 {"of_ranks", calls.of_ranks}};
  put(object, "seconds", calls.seconds);
  put(object, "waiting_seconds", calls.waiting_seconds);
  return object;
}

Json to_object(const PassedCalls& calls) {
  Json object = {{"collective", calls.collective}, {"why", calls.why},
                 {"ranks", calls.shape.ranks},     {"nodes", calls.shape.nodes},
                 {"calls", calls.calls},           {"of_ranks", calls.of_ranks}};
  if (calls.block_bytes_at_most) object["block_bytes_at_most"] = *calls.block_bytes_at_most;
  put(object, "seconds", calls.seconds);
  return object;
}

Json to_object(const RankTimes& times) {
  return {{"rank", times.rank},
          {"seconds", times.seconds},
          {"served_seconds", times.served_seconds},
          {"waiting_seconds", times.waiting_seconds},
          {"setup_seconds", times.setup_seconds},
          {"passed_seconds", times.passed_seconds},
          {"bytes", times.bytes},
          {"sent", times.sent}};
}

template <class Value>
Json to_array(const std::vector<Value>& values) {
  Json array = Json::array();
  for (const Value& value : values) array.push_back(to_object(value));
  return array;
}

std::uint64_t whole(const JsonValue& object, std::string_view key) {
  return object.at(key).whole(0, kMost);
}

int small(const JsonValue& object, std::string_view key) {
  return static_cast<int>(object.at(key).whole(0, INT32_MAX));
}

double seconds(const JsonValue& object, std::string_view key) {
  return object.at(key).number(0, kMostSeconds);
}

Spread spread(const JsonValue& object, const std::string& name) {
  return {seconds(object, name + "_least"), seconds(object, name + "_mean"), seconds(object, name)};
}

/// The elements of an array.
template <class Each>
void for_each(const JsonValue& array, Each each) {
  if (!array.json().is_array()) array.refuse("must be an array");
  for (std::size_t i = 0; i < array.json().size(); ++i) each(array.at(i));
}

std::vector<std::string> texts(const JsonValue& array) {
  std::vector<std::string> texts;
  for_each(array, [&](const JsonValue& text) { texts.push_back(text.text()); });
  return texts;
}

ServedCalls served_of(const JsonValue& object) {
  object.require_keys({"collective", "algorithm", "ranks", "nodes", "block_bytes_at_most", "calls",
                       "bytes", "messages", "wire_bytes", "of_ranks", "seconds", "seconds_mean",
                       "seconds_least", "waiting_seconds", "waiting_seconds_mean",
                       "waiting_seconds_least"});
  return {.collective = object.at("collective").text(),
          .algorithm = object.at("algorithm").text(),
          .shape = {small(object, "ranks"), small(object, "nodes")},
          .block_bytes_at_most = whole(object, "block_bytes_at_most"),
          .calls = whole(object, "calls"),
          .bytes = whole(object, "bytes"),
          .messages = whole(object, "messages"),
          .wire_bytes = whole(object, "wire_bytes"),
          .of_ranks = small(object, "of_ranks"),
          .seconds = spread(object, "seconds"),
          .waiting_seconds = spread(object, "waiting_seconds")};
}

PassedCalls passed_of(const JsonValue& object) {
  object.require_keys({"collective", "why", "ranks", "nodes", "calls", "of_ranks",
                       "block_bytes_at_most", "seconds", "seconds_mean", "seconds_least"});
  PassedCalls calls{.collective = object.at("collective").text(),
                    .why = object.at("why").text(),
                    .shape = {small(object, "ranks"), small(object, "nodes")},
                    .block_bytes_at_most = {},
                    .calls = whole(object, "calls"),
                    .of_ranks = small(object, "of_ranks"),
                    .seconds = spread(object, "seconds")};
  if (object.has("block_bytes_at_most")) {
    calls.block_bytes_at_most = whole(object, "block_bytes_at_most");
  }
  return calls;
}

RankTimes times_of(const JsonValue& object) {
  object.require_keys({"rank", "seconds", "served_seconds", "waiting_seconds", "setup_seconds",
                       "passed_seconds", "bytes", "sent"});
  RankTimes times{.rank = small(object, "rank"),
                  .seconds = seconds(object, "seconds"),
                  .served_seconds = seconds(object, "served_seconds"),
                  .waiting_seconds = seconds(object, "waiting_seconds"),
                  .setup_seconds = seconds(object, "setup_seconds"),
                  .passed_seconds = seconds(object, "passed_seconds"),
                  .bytes = whole(object, "bytes"),
                  .sent = {}};
  for_each(object.at("sent"),
           [&](const JsonValue& bytes) { times.sent.push_back(bytes.whole(0, kMost)); });
  return times;
}

}  // namespace

std::string to_json(const Summary& summary) {
  const Json object = {{"weft", kVersion},
                       {"complete", summary.complete},
                       {"program", summary.program},
                       {"host", summary.host},
                       {"machine", summary.machine},
                       {"ranks", summary.ranks},
                       {"nodes", summary.nodes},
                       {"collectives", to_array(summary.served)},
                       {"passed", to_array(summary.passed)},
                       {"by_rank", to_array(summary.by_rank)},
                       {"devices", summary.devices},
                       {"profiles", summary.profiles},
                       {"views", summary.views},
                       {"waiting", summary.waiting},
                       {"notes", summary.notes},
                       {"connections", summary.connections},
                       {"reconnections", summary.reconnections},
                       {"stage_bytes", summary.stage_bytes},
                       {"channel_bytes", summary.channel_bytes},
                       {"registrations", summary.registrations},
                       {"registration_hits", summary.registration_hits},
                       {"heap_bytes", summary.heap_bytes},
                       {"xpmem_bytes", summary.xpmem_bytes},
                       {"cma_bytes", summary.cma_bytes}};
  // A note may hold bytes of a path or a variable that are not UTF-8.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Summary parse_summary(std::string_view where, std::string_view text) {
  const Json json = parse_json(where, text);
  const JsonValue object(where, json);
  object.require_keys({"weft",          "complete",      "program",
                       "host",          "machine",       "ranks",
                       "nodes",         "collectives",   "passed",
                       "by_rank",       "devices",       "profiles",
                       "views",         "waiting",       "notes",
                       "connections",   "reconnections", "stage_bytes",
                       "channel_bytes", "registrations", "registration_hits",
                       "heap_bytes",    "xpmem_bytes",   "cma_bytes"});
  Summary summary;
  if (!object.at("complete").json().is_boolean()) object.at("complete").refuse("must be a boolean");
  summary.complete = object.at("complete").json().get<bool>();
  summary.program = object.at("program").text();
  summary.host = object.at("host").text();
  summary.machine = object.at("machine").text();
  summary.ranks = small(object, "ranks");
  summary.nodes = small(object, "nodes");
  for_each(object.at("collectives"),
           [&](const JsonValue& calls) { summary.served.push_back(served_of(calls)); });
  for_each(object.at("passed"),
           [&](const JsonValue& calls) { summary.passed.push_back(passed_of(calls)); });
  for_each(object.at("by_rank"),
           [&](const JsonValue& times) { summary.by_rank.push_back(times_of(times)); });
  summary.devices = texts(object.at("devices"));
  summary.profiles = texts(object.at("profiles"));
  summary.views = texts(object.at("views"));
  summary.waiting = texts(object.at("waiting"));
  summary.notes = texts(object.at("notes"));
  summary.connections = whole(object, "connections");
  summary.reconnections = whole(object, "reconnections");
  summary.stage_bytes = whole(object, "stage_bytes");
  summary.channel_bytes = whole(object, "channel_bytes");
  summary.registrations = whole(object, "registrations");
  summary.registration_hits = whole(object, "registration_hits");
  summary.heap_bytes = whole(object, "heap_bytes");
  summary.xpmem_bytes = whole(object, "xpmem_bytes");
  summary.cma_bytes = whole(object, "cma_bytes");
  return summary;
}

}  // namespace weft::mpi
