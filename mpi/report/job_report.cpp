#include "mpi/report/job_report.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::mpi {

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
    case Passed::no_progress:
      return "not blocking, and the host MPI does not move weft on";
    case Passed::raced:
      return "the host MPI takes no more time here, or was tried";
    case Passed::new_size:
      return "a new size, or one not prepared yet";
    case Passed::lonely_rank:
      return "ranks without neighbours may leave out calls of others";
    case Passed::several_pending:
      return "short and not blocking, with several pending at a time";
    case Passed::copied:
      return "a communicator of one rank: weft copied";
  }
  return "";
}

ReportTarget ReportTarget::parse(std::string_view value) {
  using enum Form;
  if (value.empty() || value == "0") return {};
  if (value == "1") return {.form = table, .file = {}};
  if (value == "json") return {.form = json, .file = {}};
  if (value.ends_with(".json")) return {.form = json, .file = std::string(value)};
  if (value.ends_with(".html")) return {.form = html, .file = std::string(value)};
  throw_usage(
      "WEFT_REPORT={}: not one of 0, 1, json, or the name of a file that ends in .json or .html",
      value);
}

PassedCount& PassedCounts::of(plan::Collective collective, Passed why, std::uint64_t block_bytes) {
  const std::uint64_t most = block_bytes == 0 ? 0 : std::bit_ceil(block_bytes);
  const std::lock_guard lock(mutex_);
  return by_size_[{collective, why, most}];
}

void PassedCounts::add_to(Summary& summary, const Shape& shape,
                          const comm::Stopwatch& stopwatch) const {
  const auto add = [&](plan::Collective collective, Passed why, const PassedCount& count,
                       std::optional<std::uint64_t> most) {
    const std::uint64_t calls = count.calls.load(std::memory_order_relaxed);
    if (calls == 0) return;
    const double seconds = stopwatch.seconds(count.ticks.load(std::memory_order_relaxed));
    summary.passed.push_back({.collective = std::string(to_string(collective)),
                              .why = std::string(reason(why)),
                              .shape = shape,
                              .block_bytes_at_most = most,
                              .calls = calls,
                              .of_ranks = 1,
                              .seconds = Spread::of(seconds)});
    summary.by_rank.front().passed_seconds += seconds;
  };
  for (const plan::Collective collective : plan::all_collectives()) {
    const auto& counts = by_reason_[static_cast<std::size_t>(collective)];
    for (std::size_t why = 0; why < kPassedReasons; ++why) {
      add(collective, static_cast<Passed>(why), counts[why], {});
    }
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : by_size_) {
    const auto& [collective, why, most] = key;
    add(collective, why, count, most);
  }
}

PassedCounts& Tally::passed(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  return passed_[shape];
}

void Tally::add_note(std::string note) {
  const std::lock_guard lock(mutex_);
  notes_.insert(std::move(note));
}

void Tally::add(const Statistics& statistics, const Shape& shape, std::span<const int> members) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : statistics.entries) {
    if (entry.calls == 0) continue;
    auto& served = counted_.served;
    auto same = std::ranges::find_if(served, [&](const ServedCalls& other) {
      return other.collective == entry.collective && other.algorithm == entry.algorithm &&
             other.shape == shape && other.block_bytes_at_most == entry.block_bytes_at_most;
    });
    if (same == served.end()) {
      served.push_back({.collective = entry.collective,
                        .algorithm = entry.algorithm,
                        .shape = shape,
                        .block_bytes_at_most = entry.block_bytes_at_most,
                        .seconds = {},
                        .waiting_seconds = {}});
      same = served.end() - 1;
    }
    same->calls += entry.calls;
    same->bytes += entry.bytes;
    same->messages += entry.messages;
    same->wire_bytes += entry.wire_bytes;
    same->seconds = Spread::of(same->seconds.most + entry.seconds);
    same->waiting_seconds = Spread::of(same->waiting_seconds.most + entry.waiting_seconds);
  }
  for (std::size_t to = 0; to < std::min(members.size(), statistics.sent_bytes.size()); ++to) {
    if (members[to] < kMostSent) sent_[members[to]] += statistics.sent_bytes[to];
  }
  setup_seconds_ += statistics.setup_seconds;
  if (!statistics.device.empty()) devices_.insert(statistics.device);
  if (!statistics.profile.empty()) profiles_.insert(statistics.profile);
  if (!statistics.view.empty()) views_.insert(statistics.view);
  waiting_.insert(statistics.waiting);
  notes_.insert(statistics.notes.begin(), statistics.notes.end());
  counted_.heap_bytes += statistics.heap_bytes;
  counted_.xpmem_bytes += statistics.xpmem_bytes;
  counted_.cma_bytes += statistics.cma_bytes;
  counted_.stage_bytes += statistics.stage_bytes;
  counted_.channel_bytes += statistics.channel_bytes;
  counted_.registrations += statistics.registrations;
  counted_.registration_hits += statistics.registration_hits;
}

void Tally::add_setup_ticks(std::uint64_t ticks) {
  const std::lock_guard lock(mutex_);
  setup_ticks_ += ticks;
}

void Tally::set_connections(std::uint64_t pairs, std::uint64_t reconnections) {
  const std::lock_guard lock(mutex_);
  counted_.connections = pairs;
  counted_.reconnections = reconnections;
}

Summary Tally::summary(int rank, int ranks) const {
  const std::lock_guard lock(mutex_);
  Summary summary = counted_;
  summary.ranks = ranks;
  RankTimes& times = summary.by_rank.emplace_back();
  times.rank = rank;
  times.seconds = stopwatch_.lived_seconds();
  times.setup_seconds = setup_seconds_ + stopwatch_.seconds(setup_ticks_);
  for (const ServedCalls& calls : summary.served) {
    times.served_seconds += calls.seconds.most;
    times.waiting_seconds += calls.waiting_seconds.most;
    times.bytes += calls.bytes;
  }
  if (ranks <= kMostSent) {
    times.sent.resize(static_cast<std::size_t>(ranks));
    for (const auto& [to, bytes] : sent_) times.sent[static_cast<std::size_t>(to)] = bytes;
  }
  for (const auto& [shape, counts] : passed_) counts.add_to(summary, shape, stopwatch_);
  summary.devices.assign(devices_.begin(), devices_.end());
  summary.profiles.assign(profiles_.begin(), profiles_.end());
  summary.views.assign(views_.begin(), views_.end());
  summary.waiting.assign(waiting_.begin(), waiting_.end());
  summary.notes.assign(notes_.begin(), notes_.end());
  return summary;
}

std::string report_of(std::span<const std::string> ranks, ReportTarget::Form form) {
  std::vector<Summary> summaries;
  for (const std::string& text : ranks) summaries.push_back(parse_summary("a rank's", text));
  const Summary all = merge(summaries);
  if (form == ReportTarget::Form::json) return to_json(all);
  return form == ReportTarget::Form::html ? to_html(all) : to_table(all);
}

void deliver_report(const ReportTarget& target, const std::string& report) {
  if (target.file.empty()) {
    write_all(STDERR_FILENO, report);
    return;
  }
  const File file(::open(target.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (file) {
    // Of several ranks that end the job each may come here. What is no file has neither.
    [[maybe_unused]] const int locked = ::flock(file.get(), LOCK_EX);
    [[maybe_unused]] const int emptied = ::ftruncate(file.get(), 0);
    if (write_all(file.get(), report)) return;
  }
  print_line(fmt::format("WEFT_REPORT={}: {}", target.file, std::strerror(errno)));
}

}  // namespace weft::mpi
