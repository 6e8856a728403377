#include "device_measurements/device_target.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "device_measurements/measurement_tasks.hpp"
#include "device_measurements/pinning.hpp"
#include "engine/node/doorbell.hpp"

namespace weft::device_measurements {

using nic_profiles::Copy;
using nic_profiles::Stream;

namespace {

// Time of one measurement.
constexpr double kBudget_ns = 40e6;
constexpr int kLeastRepeats = 5;
constexpr int kMostRepeats = 2000;
// The scheduler hardly affects a measurement that takes this long.
constexpr double kLong_ns = 150e6;
// Least time of a stream: ranks do not begin at exactly the same time, and where they share cores
// each must have had several turns.
constexpr double kStream_ns = 4e6;
constexpr double kCrowdedStream_ns = 12e6;
constexpr int kStreamRepeats = 5;
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

double middle(std::vector<double> values) {
  if (values.empty()) throw Error("a measurement gave no times");
  std::ranges::sort(values);
  return values[values.size() / 2];
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

/// Every rank's part of a task. Collective.
std::vector<std::vector<double>> run(Station& station, const Task& task) {
  const auto all = comm::agree(station.bootstrap(), [&] {
    try {
      station.set_active(active_ranks(task));
      const PinnedThread bound(station.common_cores(), station.own_core());
      const auto times = perform(station, task);
      return bytes_of(times.data(), times.size());
    } catch (const std::exception& error) {
      station.abort(error.what());
      throw;
    }
  });
  std::vector<std::vector<double>> answers;
  for (const std::string& one : all) answers.push_back(numbers_of(one));
  return answers;
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
    : station_(begin(bootstrap, first)) {}

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

DeviceTarget::Answers DeviceTarget::ask(const Task& task) {
  if (failed_) throw Error("the probe has failed before");
  failed_ = true;
  station_.bootstrap().allgather(bytes_of(&task, 1));
  Answers answers = run(station_, task);
  failed_ = false;
  return answers;
}

/// The median over the repeats of the slowest rank's time.
double DeviceTarget::median(Task task) {
  const auto times_of = [](const Answers& answers) {
    std::vector<double> times;
    for (const auto& one : answers) {
      times.resize(std::max(times.size(), one.size()));
      for (std::size_t i = 0; i < one.size(); ++i) times[i] = std::max(times[i], one[i]);
    }
    return times;
  };
  // The first one warms up; the second tells how many repeats fit.
  task.repeats = 1;
  ask(task);
  const std::int64_t begin = engine::now_ns();
  const auto one = times_of(ask(task));
  const auto each_ns = static_cast<double>(engine::now_ns() - begin);
  if (each_ns > kLong_ns) return middle(one);
  // When a repeat is much shorter than its collective call, the estimate is low: then more follow.
  task.repeats = std::clamp(static_cast<int>(kBudget_ns / each_ns), kLeastRepeats, kMostRepeats);
  const std::int64_t again = engine::now_ns();
  auto times = times_of(ask(task));
  const double rest_ns = kBudget_ns - static_cast<double>(engine::now_ns() - again);
  if (rest_ns > kBudget_ns / 2 && task.repeats < kMostRepeats) {
    const double more = rest_ns / (kBudget_ns - rest_ns) * task.repeats;
    task.repeats = std::clamp(static_cast<int>(more), 1, kMostRepeats);
    for (const double time : times_of(ask(task))) times.push_back(time);
  }
  return middle(std::move(times));
}

double DeviceTarget::gap_ns(const Stream& stream) {
  Task task;
  task.kind = Task::Kind::stream;
  task.stream = stream;
  const Answers answers = ask(task);
  return std::max(gap_of(station_, answers, 0), gap_of(station_, answers, 1));
}

double DeviceTarget::steady_ns(const Stream& stream) {
  // Each receiver needs some messages before it starts the clock.
  const int least = 8 * std::max(1, stream.receivers / stream.senders);
  Stream longer = stream;
  longer.messages = std::clamp(stream.messages, least, std::max(least, 64));
  double gap = gap_ns(longer);
  const double wanted_ns = station_.crowded() ? kCrowdedStream_ns : kStream_ns;
  const auto lasts_ns = [&] { return gap * longer.messages * stream.senders; };
  for (int attempt = 0; attempt < kStreamAttempts && lasts_ns() < kLong_ns; ++attempt) {
    // Twice, as the first estimate is from few messages.
    for (int guess = 0; guess < 2 && lasts_ns() < wanted_ns; ++guess) {
      const double messages = wanted_ns / std::max(1.0, gap) / stream.senders;
      longer.messages = static_cast<int>(std::clamp<double>(messages, least, kMostMessages));
      gap = gap_ns(longer);
    }
    std::vector<double> gaps = {gap};
    while (gaps.size() < kStreamRepeats) gaps.push_back(gap_ns(longer));
    gap = middle(std::move(gaps));
    // If a rank lost its core, few messages lasted long enough. Repeated without that loss they may
    // take no measurable time.
    if (lasts_ns() >= wanted_ns / 4) break;
  }
  return gap * stream.messages * stream.senders * (stream.both_ways ? 2 : 1);
}

double DeviceTarget::latency_ns(std::uint64_t bytes) {
  return median({.kind = Task::Kind::latency, .bytes = bytes});
}

double DeviceTarget::send_busy_ns(std::uint64_t bytes, nic_profiles::Memory into) {
  return median({.kind = Task::Kind::send_busy, .bytes = bytes, .into = into});
}

double DeviceTarget::copy_ns(const Copy& copy) {
  return median({.kind = Task::Kind::copy, .copy = copy});
}

double DeviceTarget::signal_ns() {
  return median({.kind = Task::Kind::signal});
}

double DeviceTarget::turn_ns() {
  return median({.kind = Task::Kind::turn});
}

double DeviceTarget::call_ns(std::uint64_t bytes) {
  return median({.kind = Task::Kind::call, .bytes = bytes});
}

double DeviceTarget::reduce_ns(std::uint64_t bytes) {
  return median({.kind = Task::Kind::reduce, .bytes = bytes});
}

double DeviceTarget::register_ns(std::uint64_t bytes) {
  return median({.kind = Task::Kind::registration, .bytes = bytes});
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
