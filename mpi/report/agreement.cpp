#include "mpi/report/agreement.hpp"

#include <nlohmann/json.hpp>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/setup/settings.hpp"
#include "hierarchy/detect.hpp"
#include "hierarchy/domains.hpp"

namespace weft::mpi {

using nlohmann::json;
using plan::CollectiveSet;

namespace {

CollectiveSet disabled_by(const std::string& text) {
  return CollectiveSet::parse("WEFT_DISABLE", text.empty() ? "0" : text);
}

CollectiveSet disabled_here() {
  return disabled_by(env::text("WEFT_DISABLE").value_or(""));
}

std::string facts_of_this_rank() {
  json facts = {{"host", hierarchy::host_identity()},
                {"socket", hierarchy::socket_identity()},
                {"error", ""}};
  for (const std::string& name : comm::Settings::shared_variables()) {
    facts[name] = env::text(name.c_str()).value_or("");
  }
  for (const char* name : {"WEFT_REPORT", "WEFT_DISABLE"})
    facts[name] = env::text(name).value_or("");
  try {
    ReportTarget::parse(env::text("WEFT_REPORT").value_or(""));
    log::level();
    // A job with all collectives disabled may have invalid settings.
    if (disabled_here() != CollectiveSet::all()) comm::Settings::from_environment();
  } catch (const UsageError& error) {
    facts["error"] = error.what();
  }
  return facts.dump(-1, ' ', false, json::error_handler_t::replace);
}

void require_no_error(const std::vector<json>& ranks) {
  for (const json& facts : ranks) {
    const auto error = facts.at("error").get<std::string>();
    if (!error.empty()) throw UsageError(error);
  }
}

void require_same(const std::vector<json>& ranks, const char* name) {
  const auto first = ranks.at(0).at(name).get<std::string>();
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const auto value = ranks[rank].at(name).get<std::string>();
    if (value != first) {
      throw_usage("{}: '{}' on rank 0 but '{}' on rank {}; allowed: the same on every rank", name,
                  first, value, rank);
    }
  }
}

hierarchy::Machine machine_of(const std::vector<json>& ranks) {
  std::vector<std::string> hosts;
  std::vector<std::string> sockets;
  for (const json& facts : ranks) {
    hosts.push_back(facts.at("host").get<std::string>());
    sockets.push_back(facts.at("socket").get<std::string>());
  }
  auto machine = hierarchy::with_sockets(hierarchy::machine_from(hosts), sockets);
  const auto nodes = ranks.at(0).at("WEFT_NODES").get<std::string>();
  if (!nodes.empty()) machine = hierarchy::with_virtual_nodes(machine, nodes);
  const auto asked = ranks.at(0).at("WEFT_SOCKETS").get<std::string>();
  return asked.empty() ? machine : hierarchy::with_virtual_sockets(machine, asked);
}

}  // namespace

Agreement agree(Bootstrap& bootstrap) {
  std::vector<json> ranks;
  for (const std::string& facts : bootstrap.allgather(facts_of_this_rank()))
    ranks.push_back(json::parse(facts));
  require_no_error(ranks);
  Agreement agreement{.disabled = {},
                      .report = ReportTarget::parse(ranks[0].at("WEFT_REPORT").get<std::string>()),
                      .machine = hierarchy::Machine::uniform(1, bootstrap.size())};
  for (const json& facts : ranks) {
    agreement.disabled |= disabled_by(facts.at("WEFT_DISABLE").get<std::string>());
  }
  if (agreement.disabled == CollectiveSet::all()) return agreement;
  for (const std::string& name : comm::Settings::shared_variables()) {
    require_same(ranks, name.c_str());
  }
  agreement.machine = machine_of(ranks);
  return agreement;
}

}  // namespace weft::mpi
