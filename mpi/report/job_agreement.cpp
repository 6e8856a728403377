#include "mpi/report/job_agreement.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
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

/// The file of the job's recording, as rank 0 knows it: empty, with a line, where it could not be
/// written at the end. Leaves an empty file.
std::string writable_recording() {
  std::string file = env::text("WEFT_TRACE").value_or("");
  if (file.empty()) return file;
  const File opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (opened) return file;
  print_line(fmt::format("WEFT_TRACE={}: {}; nothing is recorded", file, std::strerror(errno)));
  return {};
}

/// What a rank tells the others: its settings as JSON, most often the same text as others', and
/// behind a 0 its RankFacts.
std::string facts_of_this_rank(int rank, std::optional<comm::Settings>& settings) {
  json facts = {{"error", ""}, {"trouble", ""}};
  comm::RankFacts here;
  try {
    here.host = hierarchy::host_identity();
    here.process = this_process();
  } catch (const Error& error) {
    facts["trouble"] = error.what();
  }
  for (const std::string& name : comm::Settings::shared_variables()) {
    facts[name] = env::text(name.c_str()).value_or("");
  }
  for (const char* name : {"WEFT_REPORT", "WEFT_DISABLE"})
    facts[name] = env::text(name).value_or("");
  facts["WEFT_TRACE"] = rank == 0 ? writable_recording() : env::text("WEFT_TRACE").value_or("");
  try {
    ReportTarget::parse(env::text("WEFT_REPORT").value_or(""));
    log::level();
    // What is disabled may be set to anything.
    if (disabled_here() != CollectiveSet::all()) settings = comm::Settings::from_environment();
  } catch (const UsageError& error) {
    facts["error"] = error.what();
  }
  if (settings) {
    if (settings->sockets.empty()) here.socket = hierarchy::socket_identity();
    here.mask = hierarchy::affinity_mask();
    here.quota = hierarchy::cpu_quota();
    if (settings->crowded_given) here.crowded = settings->crowded;
  }
  return facts.dump(-1, ' ', false, json::error_handler_t::replace) + '\0' + here.to_text();
}

/// The settings of a rank, and of all that gave the same text.
struct Said {
  int rank;  // the lowest
  json settings;
};

/// The different ones, by their lowest rank: rank 0's first.
std::vector<Said> distinct(std::span<const std::string_view> texts) {
  std::set<std::string_view> known;
  std::vector<Said> said;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (!known.insert(texts[rank]).second) continue;
    said.push_back({static_cast<int>(rank), json::parse(texts[rank])});
  }
  return said;
}

void require_no_error(std::span<const Said> said) {
  for (const Said& one : said) {
    const auto error = one.settings.at("error").get<std::string>();
    if (!error.empty()) throw UsageError(error);
  }
}

/// Of the first rank that has any, with its number.
std::string trouble_of(std::span<const Said> said) {
  for (const Said& one : said) {
    const auto trouble = one.settings.at("trouble").get<std::string>();
    if (!trouble.empty()) return fmt::format("rank {}: {}", one.rank, trouble);
  }
  return {};
}

void require_same(std::span<const Said> said, const char* name) {
  const auto first = said[0].settings.at(name).get<std::string>();
  for (const Said& one : said) {
    const auto value = one.settings.at(name).get<std::string>();
    if (value != first) {
      throw_usage("{}: '{}' on rank 0 but '{}' on rank {}; allowed: the same on every rank", name,
                  first, value, one.rank);
    }
  }
}

}  // namespace

JobAgreement agree(Bootstrap& bootstrap) {
  std::optional<comm::Settings> settings;
  const auto texts = bootstrap.allgather(facts_of_this_rank(bootstrap.rank(), settings));
  std::vector<std::string_view> settings_texts;
  std::vector<comm::RankFacts> ranks;
  for (const std::string_view text : texts) {
    const auto end = text.find('\0');
    settings_texts.push_back(text.substr(0, end));
    ranks.push_back(comm::RankFacts::from_text(text.substr(end + 1)));
  }
  const std::vector<Said> said = distinct(settings_texts);
  require_no_error(said);
  JobAgreement agreement{
      .disabled = {},
      .wanted_at_once = {},
      .report = ReportTarget::parse(said[0].settings.at("WEFT_REPORT").get<std::string>()),
      .recording = said[0].settings.at("WEFT_TRACE").get<std::string>(),
      .settings = {},
      .machine = hierarchy::Machine::uniform(1, bootstrap.size()),
      .hosts = comm::Hosts(ranks),
      .note = trouble_of(said),
      .unusable = false};
  agreement.unusable = !agreement.note.empty();
  for (const Said& one : said) {
    agreement.disabled |= disabled_by(one.settings.at("WEFT_DISABLE").get<std::string>());
  }
  if (agreement.disabled == CollectiveSet::all()) {
    // A recording of the host's own calls knows where they ran.
    const bool is_recorded = !agreement.recording.empty() && !agreement.unusable;
    if (is_recorded) agreement.machine = comm::machine_of({}, {}, ranks);
    return agreement;
  }
  for (const std::string& name : comm::Settings::shared_variables()) {
    require_same(said, name.c_str());
  }
  if (agreement.unusable) return agreement;
  agreement.settings = settings ? *settings : comm::Settings::from_environment();
  agreement.wanted_at_once = wanted_at_once(agreement.settings);
  agreement.machine = comm::machine_of({}, agreement.settings, ranks);
  const std::string& nodes = agreement.settings.nodes;
  if (agreement.machine.nodes() == 1 && !nodes.empty() && nodes != "1") {
    agreement.note = fmt::format("WEFT_NODES={}: {} rank{} on one node", nodes, ranks.size(),
                                 ranks.size() == 1 ? "" : "s");
  }
  return agreement;
}

}  // namespace weft::mpi
