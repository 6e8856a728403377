#include "cli/stuck/standstill_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::cli {

namespace {

using namespace engine::board;

Json form(const SeenCall& call) {
  Json json = {{"number", call.number},
               {"collective", std::string(to_string(call.collective))},
               {"bytes", call.bytes}};
  if (is_rooted(call.collective)) json["root"] = call.root;
  if (!call.algorithm.empty()) json["algorithm"] = call.algorithm;
  if (!call.operation.empty()) json["operation"] = call.operation;
  json["began_seconds_ago"] = call.began_s;
  if (call.ended_s) json["ended_seconds_ago"] = *call.ended_s;
  return json;
}

Json form(const SeenWait& wait) {
  constexpr const char* kKinds[] = {"signal", "send", "receive", "entry"};
  Json json = {
      {"kind", kKinds[static_cast<std::size_t>(wait.kind)]}, {"peer", wait.peer}, {"op", wait.op}};
  if (wait.kind != WaitKind::send && wait.kind != WaitKind::recv) return json;
  json["bytes"] = wait.bytes;
  json["moved_bytes"] = wait.moved;
  json["path"] = wait.over_device ? "device" : "shared memory";
  json["broken"] = wait.broken;
  if (wait.link) json["ring_slots"] = wait.link->slots;
  if (wait.link && wait.link->queue_pairs != 0) {
    json["connection"] = {{"queue_pairs", wait.link->queue_pairs},
                          {"ready", wait.link->ready},
                          {"requests", wait.link->requests},
                          {"times_made_anew", wait.link->reconnections}};
  }
  return json;
}

Json form(const SeenRank& rank) {
  constexpr const char* kPhases[] = {"calls", "setting up", "failed"};
  Json json = {{"rank", rank.rank},
               {"node", rank.node},
               {"process", rank.process.number},
               {"process_state", std::string(1, rank.process.state)},
               {"cpu_seconds", rank.process.cpu_s},
               {"known", rank.has_posting}};
  if (rank.used_s) {
    json["missed_seconds"] = rank.missed_s;
    json["cpu_seconds_since_missed"] = *rank.used_s;
  }
  if (!rank.has_posting) return json;
  json["phase"] = kPhases[static_cast<std::size_t>(rank.phase)];
  if (rank.setup) json["setting_up"] = form(*rank.setup);
  Json calls = Json::array();
  for (const SeenCall& call : rank.calls) calls.push_back(form(call));
  json["calls"] = std::move(calls);
  Json waits = Json::array();
  for (const SeenWait& wait : rank.waits) waits.push_back(form(wait));
  json["waits"] = std::move(waits);
  if (!rank.elsewhere.empty()) json["elsewhere"] = rank.elsewhere;
  return json;
}

std::string_view name_of(Edge::Target target) {
  switch (target) {
    case Edge::Target::absent:
      return "not arrived";
    case Edge::Target::dead:
      return "dead";
    case Edge::Target::stopped:
      return "stopped";
    case Edge::Target::gone_on:
      return "gone on";
    case Edge::Target::busy:
      return "busy";
    case Edge::Target::in_turn:
      return "waits in turn";
    case Edge::Target::unknown:
      break;
  }
  return "unknown";
}

Json form(const Edge& edge) {
  Json json = {{"from", edge.from},
               {"to", edge.to},
               {"target", std::string(name_of(edge.target))},
               {"dependents", edge.dependents}};
  if (edge.wait) json["wait"] = form(*edge.wait);
  return json;
}

Json form(const Group& group) {
  return {{"ranks", group.ranks}, {"call", form(group.call)}};
}

Json form(const Seen& seen, const std::function<std::string(pid_t)>& stack_of) {
  const Standstill& found = seen.standstill;
  Json json = {{"communicator", fmt::format("{:016x}", found.communicator)},
               {"size", found.size},
               {"seconds", found.since_s},
               {"setting_up", found.is_setup}};
  if (found.call) json["call"] = form(*found.call);
  json["waiting"] = found.waiting;
  Json groups = Json::array();
  for (const Group& group : found.different) groups.push_back(form(group));
  json["different_calls"] = std::move(groups);
  if (found.last_common) json["last_common_call"] = form(*found.last_common);
  json["not_arrived"] = found.absent;
  json["dead"] = found.dead;
  json["stopped"] = found.stopped;
  json["unknown"] = found.unknown;
  if (found.edge) json["blocked_at"] = form(*found.edge);
  Json ranks = Json::array();
  for (const SeenRank& rank : seen.communicator.ranks) {
    Json one = form(rank);
    if (std::ranges::binary_search(found.absent, rank.rank)) {
      const std::string stack = stack_of(rank.process.number);
      if (!stack.empty()) one["stack"] = stack;
    }
    ranks.push_back(std::move(one));
  }
  json["ranks"] = std::move(ranks);
  return json;
}

}  // namespace

Json to_json_form(std::span<const pid_t> processes, const std::vector<Seen>& standstills,
                  const std::function<std::string(pid_t)>& stack_of) {
  Json list = Json::array();
  for (const Seen& one : standstills) list.push_back(form(one, stack_of));
  return {{"processes", std::vector<pid_t>(processes.begin(), processes.end())},
          {"standstills", std::move(list)}};
}

}  // namespace weft::cli
