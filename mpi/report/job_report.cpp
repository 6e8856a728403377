#include "mpi/report/job_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace weft::mpi {

using nlohmann::json;

void print_line(std::string_view line) {
  const std::string text = fmt::format("weft: {}\n", line);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string_view reason(Passed passed) {
  switch (passed) {
    case Passed::disabled:
      return "WEFT_DISABLE names it";
    case Passed::arguments:
      return "arguments that the host MPI is to judge";
    case Passed::no_bytes:
      return "nothing to exchange";
    case Passed::one_rank:
      return "a communicator of one rank";
    case Passed::intercommunicator:
      return "an inter-communicator";
    case Passed::foreign_ranks:
      return "ranks of another MPI_COMM_WORLD";
    case Passed::setup_failed:
      return "setup failed";
    case Passed::being_freed:
      return "a communicator that is being freed";
    case Passed::few_calls:
      return "the first calls of a communicator";
    case Passed::unknown_origin:
      return "a communicator whose making was not seen";
  }
  return "";
}

ReportTarget ReportTarget::parse(std::string_view value) {
  using enum Form;
  if (value.empty() || value == "0") return {};
  if (value == "1") return {.form = table, .file = {}};
  if (value == "json") return {.form = json, .file = {}};
  if (value.ends_with(".json")) return {.form = json, .file = std::string(value)};
  throw_usage("WEFT_REPORT={}: not one of 0, 1, json, or the name of a file that ends in .json",
              value);
}

void Tally::add_note(std::string note) {
  const std::lock_guard lock(mutex_);
  notes_.insert(std::move(note));
}

void Tally::add(const Statistics& statistics) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : statistics.entries) {
    const auto same = std::ranges::find_if(entries_, [&](const Statistics::Entry& other) {
      return other.collective == entry.collective && other.algorithm == entry.algorithm;
    });
    if (same == entries_.end()) {
      entries_.push_back(entry);
      continue;
    }
    same->calls += entry.calls;
    same->bytes += entry.bytes;
    same->messages += entry.messages;
    same->wire_bytes += entry.wire_bytes;
    same->seconds += entry.seconds;
  }
  if (!statistics.device.empty()) devices_.insert(statistics.device);
  if (!statistics.profile.empty()) profiles_.insert(statistics.profile);
  if (!statistics.view.empty()) views_.insert(statistics.view);
  waiting_.insert(statistics.waiting);
  notes_.insert(statistics.notes.begin(), statistics.notes.end());
  heap_bytes_ += statistics.heap_bytes;
  xpmem_bytes_ += statistics.xpmem_bytes;
  cma_bytes_ += statistics.cma_bytes;
  stage_bytes_ += statistics.stage_bytes;
  channel_bytes_ += statistics.channel_bytes;
  registrations_ += statistics.registrations;
  registration_hits_ += statistics.registration_hits;
}

void Tally::set_connections(std::uint64_t pairs, std::uint64_t reconnections) {
  const std::lock_guard lock(mutex_);
  connections_ = pairs;
  reconnections_ = reconnections;
}

std::string Tally::serialize() const {
  const std::lock_guard lock(mutex_);
  json result = {{"devices", devices_},
                 {"profiles", profiles_},
                 {"views", views_},
                 {"waiting", waiting_},
                 {"notes", notes_},
                 {"connections", connections_},
                 {"reconnections", reconnections_},
                 {"heap_bytes", heap_bytes_},
                 {"xpmem_bytes", xpmem_bytes_},
                 {"cma_bytes", cma_bytes_},
                 {"stage_bytes", stage_bytes_},
                 {"channel_bytes", channel_bytes_},
                 {"registrations", registrations_},
                 {"registration_hits", registration_hits_},
                 {"collectives", json::array()},
                 {"passed", json::array()}};
  for (const auto& entry : entries_) {
    result["collectives"].push_back({{"collective", entry.collective},
                                     {"algorithm", entry.algorithm},
                                     {"calls", entry.calls},
                                     {"bytes", entry.bytes},
                                     {"messages", entry.messages},
                                     {"wire_bytes", entry.wire_bytes},
                                     {"seconds", entry.seconds}});
  }
  for (const plan::Collective collective : plan::all_collectives()) {
    const auto& passed = passed_[static_cast<std::size_t>(collective)];
    for (std::size_t i = 0; i < kPassedReasons; ++i) {
      const std::uint64_t calls = passed[i].load(std::memory_order_relaxed);
      if (calls == 0) continue;
      result["passed"].push_back({{"collective", to_string(collective)},
                                  {"why", reason(static_cast<Passed>(i))},
                                  {"calls", calls}});
    }
  }
  // A note may hold bytes of a path or a variable that are not UTF-8.
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {

void add_up(json& all, const json& one, std::string_view key) {
  const std::string name(key);
  all[name] = all[name].get<std::uint64_t>() + one.at(name).get<std::uint64_t>();
}

template <class Number>
void raise(json& all, const json& one, std::string_view key) {
  const std::string name(key);
  all[name] = std::max(all[name].get<Number>(), one.at(name).get<Number>());
}

// The entry of `list` with the same values as `entry` under `keys`. Null: there was none, and
// `entry` was added.
json* find_or_add(json& list, const json& entry, std::initializer_list<const char*> keys) {
  for (json& other : list) {
    if (std::ranges::all_of(keys, [&](const char* key) { return other[key] == entry.at(key); }))
      return &other;
  }
  list.push_back(entry);
  return nullptr;
}

void merge_list(json& all, const json& one) {
  for (const json& value : one) {
    if (std::ranges::find(all, value) == all.end()) all.push_back(value);
  }
}

// Adds a rank to the report. Bytes and messages are sums over the ranks; calls, seconds and memory
// are maxima.
void merge_rank(json& all, const json& one) {
  for (const json& entry : one.at("collectives")) {
    json* same = find_or_add(all["collectives"], entry, {"collective", "algorithm"});
    if (same == nullptr) continue;
    for (const char* key : {"bytes", "messages", "wire_bytes"}) add_up(*same, entry, key);
    raise<std::uint64_t>(*same, entry, "calls");
    raise<double>(*same, entry, "seconds");
  }
  for (const json& entry : one.at("passed")) {
    json* same = find_or_add(all["passed"], entry, {"collective", "why"});
    if (same != nullptr) raise<std::uint64_t>(*same, entry, "calls");
  }
  for (const char* key : {"devices", "profiles", "views", "waiting", "notes"})
    merge_list(all[key], one.at(key));
  for (const char* key : {"heap_bytes", "xpmem_bytes", "cma_bytes"}) add_up(all, one, key);
  for (const char* key : {"connections", "reconnections", "stage_bytes", "channel_bytes",
                          "registrations", "registration_hits"}) {
    raise<std::uint64_t>(all, one, key);
  }
}

std::string joined(const json& list) {
  return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), ", "));
}

std::string table(const json& all) {
  std::string text = fmt::format("weft: {} ranks on {} nodes ({}), {}\n", all["ranks"].get<int>(),
                                 all["nodes"].get<int>(), all["machine"].get<std::string>(),
                                 all["host"].get<std::string>());
  if (!all["collectives"].empty()) {
    text += fmt::format("  {:<16}{:<28}{:>9}{:>14}{:>11}{:>15}{:>10}\n", "collective", "algorithm",
                        "calls", "bytes", "messages", "device bytes", "seconds");
  }
  for (const json& entry : all["collectives"]) {
    text += fmt::format("  {:<16}{:<28}{:>9}{:>14}{:>11}{:>15}{:>10.3f}\n",
                        entry["collective"].get<std::string>(),
                        entry["algorithm"].get<std::string>(), entry["calls"].get<std::uint64_t>(),
                        entry["bytes"].get<std::uint64_t>(), entry["messages"].get<std::uint64_t>(),
                        entry["wire_bytes"].get<std::uint64_t>(), entry["seconds"].get<double>());
  }
  for (const json& entry : all["passed"]) {
    text += fmt::format("  passed through: {} {} ({})\n", entry["collective"].get<std::string>(),
                        entry["calls"].get<std::uint64_t>(), entry["why"].get<std::string>());
  }
  text += fmt::format(
      "  device: {}; algorithms chosen by {}; inside a node: {}; waiting: {}; most on one rank: {} "
      "connections, "
      "{} reconnections, {} "
      "bytes staged, {} "
      "bytes registered, {} buffers registered and {} found so\n",
      all["devices"].empty() ? "none needed" : joined(all["devices"]),
      all["profiles"].empty() ? "fixed rules" : joined(all["profiles"]),
      all["views"].empty() ? "nothing" : joined(all["views"]),
      all["waiting"].empty() ? "never" : joined(all["waiting"]),
      all["connections"].get<std::uint64_t>(), all["reconnections"].get<std::uint64_t>(),
      all["stage_bytes"].get<std::uint64_t>(), all["channel_bytes"].get<std::uint64_t>(),
      all["registrations"].get<std::uint64_t>(), all["registration_hits"].get<std::uint64_t>());
  const auto heap_bytes = all["heap_bytes"].get<std::uint64_t>();
  const auto xpmem_bytes = all["xpmem_bytes"].get<std::uint64_t>();
  if (heap_bytes + xpmem_bytes != 0) {
    text += fmt::format("  of peers: {} bytes copied in shared heaps, {} by xpmem, {} by cma\n",
                        heap_bytes, xpmem_bytes, all["cma_bytes"].get<std::uint64_t>());
  }
  for (const json& note : all["notes"]) text += fmt::format("  {}\n", note.get<std::string>());
  return text;
}

}  // namespace

std::string merge_report(const std::vector<std::string>& tallies, ReportTarget::Form form,
                         std::string_view host, std::string_view machine, int nodes) {
  json all = json::parse(tallies.at(0));
  all["host"] = host;
  all["machine"] = machine;
  all["nodes"] = nodes;
  all["ranks"] = tallies.size();
  for (std::size_t rank = 1; rank < tallies.size(); ++rank)
    merge_rank(all, json::parse(tallies[rank]));
  return form == ReportTarget::Form::json ? all.dump() + "\n" : table(all);
}

void deliver_report(const ReportTarget& target, const std::string& report) {
  std::FILE* file = target.file.empty() ? stderr : std::fopen(target.file.c_str(), "w");
  if (file == nullptr) {
    print_line(fmt::format("WEFT_REPORT={}: {}", target.file, std::strerror(errno)));
    return;
  }
  std::fputs(report.c_str(), file);
  if (file != stderr) std::fclose(file);
}

}  // namespace weft::mpi
