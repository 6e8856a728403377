#include "mpi/report/job_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/setup/placement.hpp"
#include "comm/setup/settings.hpp"
#include "hierarchy/detect.hpp"

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

CollectiveSet wanted_at_once(const comm::Settings& settings) {
  if (settings.from_first_call) return CollectiveSet::all();
  CollectiveSet wanted;
  for (const auto& [collective, algorithm] : settings.algorithms) wanted.insert(collective);
  return wanted;
}

std::string facts_of_this_rank() {
  json facts = {
      {"host", ""}, {"socket", hierarchy::socket_identity()}, {"error", ""}, {"trouble", ""}};
  try {
    facts["host"] = hierarchy::host_identity();
  } catch (const Error& error) {
    facts["trouble"] = error.what();
  }
  for (const std::string& name : comm::Settings::shared_variables()) {
    facts[name] = env::text(name.c_str()).value_or("");
  }
  for (const char* name : {"WEFT_REPORT", "WEFT_DISABLE"})
    facts[name] = env::text(name).value_or("");
  try {
    ReportTarget::parse(env::text("WEFT_REPORT").value_or(""));
    log::level();
    // What is disabled may be set to anything.
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

/// Of the first rank that has any, with its number.
std::string trouble_of(const std::vector<json>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto trouble = ranks[rank].at("trouble").get<std::string>();
    if (!trouble.empty()) return fmt::format("rank {}: {}", rank, trouble);
  }
  return {};
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

std::vector<std::string> texts_of(const std::vector<json>& ranks, const char* name) {
  std::vector<std::string> texts;
  for (const json& facts : ranks) texts.push_back(facts.at(name).get<std::string>());
  return texts;
}

/// How many ranks share a core where they share most; at least 1.
int most_ranks_on_a_core(std::span<const std::string> hosts, std::span<const std::string> masks) {
  std::map<std::string_view, std::vector<std::string>> masks_of_host;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    masks_of_host[hosts[rank]].push_back(masks[rank]);
  }
  int most = 1;
  for (const auto& [host, here] : masks_of_host) {
    const int cores = std::max(1, hierarchy::cores_of(here).usable);
    most = std::max(most, (static_cast<int>(here.size()) + cores - 1) / cores);
  }
  return most;
}

}  // namespace

JobAgreement agree(Bootstrap& bootstrap) {
  std::vector<json> ranks;
  for (const std::string& facts : bootstrap.allgather(facts_of_this_rank()))
    ranks.push_back(json::parse(facts));
  require_no_error(ranks);
  JobAgreement agreement{
      .disabled = {},
      .wanted_at_once = {},
      .report = ReportTarget::parse(ranks[0].at("WEFT_REPORT").get<std::string>()),
      .machine = hierarchy::Machine::uniform(1, bootstrap.size()),
      .crowded = false,
      .most_ranks_on_a_core = 1,
      .note = trouble_of(ranks),
      .unusable = false};
  agreement.unusable = !agreement.note.empty();
  for (const json& facts : ranks) {
    agreement.disabled |= disabled_by(facts.at("WEFT_DISABLE").get<std::string>());
  }
  if (agreement.disabled == CollectiveSet::all()) return agreement;
  for (const std::string& name : comm::Settings::shared_variables()) {
    require_same(ranks, name.c_str());
  }
  if (agreement.unusable) return agreement;
  const auto hosts = texts_of(ranks, "host");
  const auto masks = bootstrap.allgather(hierarchy::affinity_mask());
  const auto settings = comm::Settings::from_environment();
  agreement.wanted_at_once = wanted_at_once(settings);
  agreement.machine = comm::machine_of({}, settings, hosts, texts_of(ranks, "socket"));
  agreement.crowded = comm::waiting_of({}, settings, hosts, bootstrap.rank(), masks).crowded;
  agreement.most_ranks_on_a_core = most_ranks_on_a_core(hosts, masks);
  if (agreement.machine.nodes() == 1 && !settings.nodes.empty() && settings.nodes != "1") {
    agreement.note = fmt::format("WEFT_NODES={}: {} rank{} on one node", settings.nodes,
                                 ranks.size(), ranks.size() == 1 ? "" : "s");
  }
  return agreement;
}

}  // namespace weft::mpi
