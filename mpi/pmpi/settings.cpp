#include "mpi/pmpi/settings.hpp"

#include <nlohmann/json.hpp>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/settings.hpp"
#include "hierarchy/detect.hpp"

namespace weft::pmpi {

using nlohmann::json;

namespace {

std::string facts_of_this_rank() {
  json facts = {{"host", hierarchy::host_identity()}, {"disabled", false}, {"error", ""}};
  for (const std::string& name : comm::Settings::shared_variables()) {
    facts[name] = env::text(name.c_str()).value_or("");
  }
  facts["WEFT_REPORT"] = env::text("WEFT_REPORT").value_or("");
  try {
    ReportTarget::parse(env::text("WEFT_REPORT").value_or(""));
    log::level();
    const bool disabled = env::flag("WEFT_DISABLE").value_or(false);
    facts["disabled"] = disabled;
    // What is disabled may be set to anything.
    if (!disabled) comm::Settings::from_environment();
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
  for (const json& facts : ranks) hosts.push_back(facts.at("host").get<std::string>());
  const hierarchy::Machine real = hierarchy::machine_from(hosts);
  const auto nodes = ranks.at(0).at("WEFT_NODES").get<std::string>();
  return nodes.empty() ? real : hierarchy::with_virtual_nodes(real, nodes);
}

}  // namespace

Agreement agree(Bootstrap& bootstrap) {
  std::vector<json> ranks;
  for (const std::string& facts : bootstrap.allgather(facts_of_this_rank()))
    ranks.push_back(json::parse(facts));
  bool disabled = false;
  for (const json& facts : ranks) disabled = disabled || facts.at("disabled").get<bool>();
  require_no_error(ranks);
  if (disabled) {
    return {.disabled = true,
            .report = ReportTarget::parse(ranks[0].at("WEFT_REPORT").get<std::string>()),
            .machine = hierarchy::Machine::uniform(1, bootstrap.size())};
  }
  for (const std::string& name : comm::Settings::shared_variables()) {
    require_same(ranks, name.c_str());
  }
  return {.disabled = false,
          .report = ReportTarget::parse(ranks[0].at("WEFT_REPORT").get<std::string>()),
          .machine = machine_of(ranks)};
}

}  // namespace weft::pmpi
