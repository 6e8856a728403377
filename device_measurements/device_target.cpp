#include "device_measurements/device_target.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "device_measurements/measurement_tasks.hpp"
#include "device_measurements/pinning.hpp"
#include "engine/node/doorbell.hpp"

namespace weft::device_measurements {

using nic_profiles::Copy;
using nic_profiles::Estimate;
using nic_profiles::Stream;

namespace {

// Time of one measurement, and of one whose interval is not tight by then.
constexpr double kBudget_ns = 40e6;
constexpr double kMostBudget_ns = 240e6;
constexpr int kMostRepeats = 4000;  // at once
// Least time of a stream: ranks do not begin at exactly the same time, and where they share cores
// each must have had several turns.
constexpr double kStream_ns = 4e6;
constexpr double kCrowdedStream_ns = 12e6;
constexpr double kLongStream_ns = 150e6;
constexpr int kMostStreamRepeats = 15;
constexpr int kStreamAttempts = 3;
constexpr int kMostMessages = 1 << 18;

template <class Value>
std::string bytes_of(const Value* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(Value)};
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers(text.size() / sizeof(double));
  std::memcpy(numbers.data(), text.data(), numbers.size() * sizeof(double));
  return numbers;
}

/// Of each repeat, the slowest rank's time.
std::vector<double> slowest(const std::vector<std::vector<double>>& answers) {
  std::vector<double> times;
  for (const auto& one : answers) {
    times.resize(std::max(times.size(), one.size()));
    for (std::size_t i = 0; i < one.size(); ++i) times[i] = std::max(times[i], one[i]);
  }
  return times;
}

Estimate scaled(const Estimate& one, double factor) {
  const nic_profiles::Spread& spread = one.spread;
  return {one.ns * factor,
          {spread.low_ns * factor, spread.high_ns * factor, spread.repeats, spread.others}};
}

/// The cores on which ranks do a task; empty: not known.
cpu_set_t cores_of(const Station& station, const Task& task) {
  if (task.kind != Task::Kind::turn) return station.common_cores();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &station.common_cores())) CPU_SET(core, &one);
  }
  return one;
}

/// Calls `first` on the rank that has one, before anything else. Collective.
Bootstrap& begin(Bootstrap& bootstrap, const std::function<void()>& first) {
  comm::agree(bootstrap, [&] {
    if (first) first();
    return std::string();
  });
  return bootstrap;
}

/// Ranks that are busy with a task, on each node.
std::array<int, 2> active_ranks(const Task& task) {
  switch (task.kind) {
    case Task::Kind::stream: {
      const int most = std::max(task.stream.senders, task.stream.receivers);
      if (task.stream.both_ways) return {most, most};
      return {task.stream.senders, task.stream.receivers};
    }
    case Task::Kind::copy:
      return {task.copy.cores,
              task.copy.origin == nic_profiles::Origin::fresh ? task.copy.cores : 0};
    case Task::Kind::signal:
    case Task::Kind::turn:
    case Task::Kind::call:
      return {2, 0};
    default:
      return {1, 1};
  }
}

/// Every rank's part of a task: its times, and at the end those of its core. Collective.
struct Part {
  std::vector<double> times;
  CoreTimes core;
};

std::vector<Part> run(Station& station, const Task& task) {
  const auto all = comm::agree(station.bootstrap(), [&] {
    try {
      station.set_active(active_ranks(task));
      const PinnedThread bound(station.common_cores(), station.own_core());
      station.core_watch().begin();
      const auto times = perform(station, task);
      const CoreTimes core = station.core_watch().end(cores_of(station, task));
      return bytes_of(&core, 1) + bytes_of(times.data(), times.size());
    } catch (const std::exception& error) {
      station.abort(error.what());
      throw;
    }
  });
  std::vector<Part> parts;
  for (const std::string& one : all) {
    Part& part = parts.emplace_back();
    std::memcpy(&part.core, one.data(), sizeof part.core);
    part.times = numbers_of(one.substr(sizeof part.core));
  }
  return parts;
}

/// ns per message of all senders, as measured by the ranks of one node; 0 where none received.
double gap_of(const Station& station, const std::vector<std::vector<double>>& answers, int node) {
  double begin = 0, end = 0, messages = 0;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (answers[rank].empty() || station.node_of(static_cast<int>(rank)) != node) continue;
    const bool first = messages == 0;
    begin = first ? answers[rank][0] : std::min(begin, answers[rank][0]);
    end = std::max(end, answers[rank][1]);
    messages += answers[rank][2];
  }
  return messages == 0 ? 0 : (end - begin) / messages;
}

}  // namespace

DeviceTarget::DeviceTarget(Bootstrap& bootstrap, const std::function<void()>& first)
    : station_(begin(bootstrap, first)) {
  ::getloadavg(&load_, 1);
}

DeviceTarget::~DeviceTarget() {
  if (failed_) return;
  try {
    const Task end;
    station_.bootstrap().allgather(bytes_of(&end, 1));
  } catch (const std::exception&) {
    // A rank that has ended needs no task.
  }
}

nic_profiles::Profile DeviceTarget::identity() const {
  const nic_profiles::DeviceName device = station_.device();
  nic_profiles::Profile profile;
  profile.name = device.name;
  profile.adapter = station_.endpoint().describe();
  profile.device = {device.vendor, {device.part}};
  if (const auto known = nic_profiles::find(device.vendor, device.part)) {
    profile.adapter = nic_profiles::load(*known).adapter;
  }
  const verbs::RcWire& wire = station_.to(0).wire;
  profile.hardware.adapter.eager_bytes = station_.eager_bytes();
  profile.hardware.adapter.receiver_first = true;
  profile.hardware.adapter.inline_bytes = wire.inline_bytes();
  profile.hardware.adapter.in_order_placement = !wire.is_immediate();
  profile.hardware.host.cores = station_.cores();
  profile.hardware.host.nodes = station_.on_one_machine() ? 2 : 1;
  return profile;
}

std::string DeviceTarget::source() const {
  std::string text = "probed on " + station_.device().name;
  if (station_.on_one_machine()) text += ", both nodes on one machine";
  if (station_.crowded()) {
    text += fmt::format(", {} ranks on {} cores", station_.ranks_here(), station_.cores());
  }
  return text;
}

nic_profiles::CoreUse DeviceTarget::core_use() const {
  nic_profiles::CoreUse use = disturbance_.use();
  use.load = load_;
  return use;
}

DeviceTarget::Answers DeviceTarget::ask(const Task& task) {
  if (failed_) throw Error("the probe has failed before");
  failed_ = true;
  station_.bootstrap().allgather(bytes_of(&task, 1));
  std::vector<Part> parts = run(station_, task);
  failed_ = false;
  const std::array<int, 2> active = active_ranks(task);
  Answers answers;
  std::vector<RankTimes> ranks;
  std::array<int, 2> places{};
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const int node = station_.node_of(static_cast<int>(rank));
    const bool is_active = places[node]++ < active[node];
    ranks.push_back({station_.on_one_machine() ? 0 : node, is_active, parts[rank].core});
    answers.push_back(std::move(parts[rank].times));
  }
  disturbance_.add(ranks, task.kind == Task::Kind::turn);
  return answers;
}

Estimate DeviceTarget::take(Task task) {
  disturbance_.begin();
  // The first one warms up; the second tells how many repeats fit.
  task.repeats = 1;
  ask(task);
  std::vector<double> times;
  double spent_ns = 0;
  const auto repeat = [&] {
    const std::int64_t begin = engine::now_ns();
    for (const double time : slowest(ask(task))) times.push_back(time);
    spent_ns += static_cast<double>(engine::now_ns() - begin);
  };
  repeat();
  const double most_ns = hurries_ ? 0 : kMostBudget_ns;
  const int least = hurries_ ? 1 : nic_profiles::kLeastRepeats - 1;
  Estimate found;
  do {
    const double each_ns = spent_ns / static_cast<double>(std::max<std::size_t>(1, times.size()));
    // When a repeat is much shorter than its collective call, the estimate is low.
    const double room_ns = spent_ns < kBudget_ns ? kBudget_ns - spent_ns : kBudget_ns;
    task.repeats = std::clamp(static_cast<int>(room_ns / each_ns), least, kMostRepeats);
    repeat();
    found = nic_profiles::estimate(times);
  } while (spent_ns < most_ns && (spent_ns < kBudget_ns / 2 || !is_tight(found)));
  found.spread.others = disturbance_.share();
  return found;
}

double DeviceTarget::gap_ns(const Stream& stream) {
  Task task;
  task.kind = Task::Kind::stream;
  task.stream = stream;
  const Answers answers = ask(task);
  return std::max(gap_of(station_, answers, 0), gap_of(station_, answers, 1));
}

Estimate DeviceTarget::steady(const Stream& stream) {
  disturbance_.begin();
  // Each receiver needs some messages before it starts the clock.
  const int least = 8 * std::max(1, stream.receivers / stream.senders);
  Stream longer = stream;
  longer.messages = std::clamp(stream.messages, least, std::max(least, 64));
  Estimate gap{gap_ns(longer)};
  const double wanted_ns = station_.crowded() ? kCrowdedStream_ns : kStream_ns;
  const auto lasts_ns = [&] { return gap.ns * longer.messages * stream.senders; };
  const int attempts = hurries_ ? 1 : kStreamAttempts;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    // Twice, as the first estimate is from few messages.
    for (int guess = 0; guess < 2 && lasts_ns() < wanted_ns; ++guess) {
      const double messages = wanted_ns / std::max(1.0, gap.ns) / stream.senders;
      longer.messages = static_cast<int>(std::clamp<double>(messages, least, kMostMessages));
      gap.ns = gap_ns(longer);
    }
    gap = repeated(longer, gap.ns, lasts_ns());
    // If a rank lost its core, few messages lasted long enough. Repeated without that loss they may
    // take no measurable time.
    if (lasts_ns() >= wanted_ns / 4) break;
  }
  gap.spread.others = disturbance_.share();
  return scaled(gap, 1.0 * stream.messages * stream.senders * (stream.both_ways ? 2 : 1));
}

/// The time between messages of a stream of which one is known: more of them, until they agree.
Estimate DeviceTarget::repeated(const Stream& stream, double first_ns, double lasts_ns) {
  const bool once = hurries_ || lasts_ns > kLongStream_ns;
  std::vector<double> gaps = {first_ns};
  const std::size_t least = hurries_ ? 2 : nic_profiles::kLeastRepeats;
  while (gaps.size() < least) gaps.push_back(gap_ns(stream));
  Estimate gap = nic_profiles::estimate(gaps);
  while (!once && !is_tight(gap) && gaps.size() < kMostStreamRepeats) {
    gaps.push_back(gap_ns(stream));
    gap = nic_profiles::estimate(gaps);
  }
  return gap;
}

Estimate DeviceTarget::latency(std::uint64_t bytes) {
  return take({.kind = Task::Kind::latency, .bytes = bytes});
}

Estimate DeviceTarget::send_busy(std::uint64_t bytes, nic_profiles::Memory into) {
  return take({.kind = Task::Kind::send_busy, .bytes = bytes, .into = into});
}

Estimate DeviceTarget::copy(const Copy& copy) {
  return take({.kind = Task::Kind::copy, .copy = copy});
}

Estimate DeviceTarget::signal() {
  return take({.kind = Task::Kind::signal});
}

Estimate DeviceTarget::turn() {
  return take({.kind = Task::Kind::turn});
}

Estimate DeviceTarget::call(std::uint64_t bytes) {
  return take({.kind = Task::Kind::call, .bytes = bytes});
}

Estimate DeviceTarget::reduce(std::uint64_t bytes) {
  return take({.kind = Task::Kind::reduce, .bytes = bytes});
}

Estimate DeviceTarget::registration(std::uint64_t bytes) {
  return take({.kind = Task::Kind::registration, .bytes = bytes});
}

void serve(Bootstrap& bootstrap) {
  begin(bootstrap, {});
  Station station(bootstrap);
  for (;;) {
    const std::string text = bootstrap.allgather("").front();
    Task task;
    if (text.size() != sizeof task) throw Error("rank 0: not a task of this build");
    std::memcpy(&task, text.data(), sizeof task);
    if (task.kind == Task::Kind::end) return;
    run(station, task);
  }
}

}  // namespace weft::device_measurements
