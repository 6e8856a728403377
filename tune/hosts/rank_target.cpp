#include "tune/hosts/rank_target.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::tune {

namespace {

constexpr int kCallsAtOnce = 10;
constexpr std::size_t kMostCalls = 60;
constexpr auto kLongest = std::chrono::seconds(1);

/// Stands for no algorithm among words.
constexpr std::string_view kNone = "-";

std::string words_of(const MeasuredCall& call) {
  return fmt::format("{} {} {} {} {}", call.collective, call.bytes,
                     call.algorithm.empty() ? kNone : call.algorithm, call.segment,
                     static_cast<int>(call.untouched));
}

MeasuredCall call_of(std::istream& words) {
  MeasuredCall call;
  words >> call.collective >> call.bytes >> call.algorithm >> call.segment >> call.untouched;
  if (call.algorithm == kNone) call.algorithm.clear();
  return call;
}

/// Does what rank 0 asks for, on this rank.
std::string answer(MeasuredJob& job, const std::string& task) {
  std::istringstream words(task);
  std::string what;
  words >> what;
  if (what == "host") return job.host();
  if (what == "prepare") return job.prepare(call_of(words)) ? "yes" : "no";
  if (what == "order") return job.keeps_order(call_of(words)) ? "yes" : "no";
  int calls = 0;
  words >> calls;
  std::string times;
  for (const double one : job.run(calls)) times += fmt::format("{} ", one);
  return times;
}

/// What on_alarm() writes; changed only while no alarm is set.
std::string late;

void on_alarm(int /*signal*/) {
  write_all(STDERR_FILENO, late);
  ::_exit(1);
}

/// Ends the process where this is not destroyed in time.
class Deadline {
 public:
  explicit Deadline(const std::string& task) {
    late = fmt::format("weft: tune: \"{}\" did not end in {} s on all ranks\n", task,
                       RankTarget::kDeadline);
    std::signal(SIGALRM, on_alarm);
    ::alarm(RankTarget::kDeadline);
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() { ::alarm(0); }
};

bool all_say_yes(const std::vector<std::string>& answers) {
  return std::ranges::all_of(answers, [](const std::string& one) { return one == "yes"; });
}

}  // namespace

RankTarget::~RankTarget() {
  try {
    job_.bootstrap().allgather("end");
  } catch (const std::exception&) {  // the others are gone
  }
}

std::vector<std::string> RankTarget::ask(const std::string& task) {
  const Deadline deadline(task);
  job_.bootstrap().allgather(task);
  return job_.bootstrap().allgather(answer(job_, task));
}

std::vector<std::string> RankTarget::hosts() {
  return ask("host");
}

bool RankTarget::can_run(const MeasuredCall& call) {
  return all_say_yes(ask("prepare " + words_of(call)));
}

bool RankTarget::keeps_order(const MeasuredCall& call) {
  return all_say_yes(ask("order " + words_of(call)));
}

std::optional<nic_profiles::Estimate> RankTarget::time(const MeasuredCall& call) {
  if (!can_run(call)) return std::nullopt;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  std::vector<double> times;
  nic_profiles::Estimate estimate;
  do {
    std::vector<double> longest(kCallsAtOnce, 0);
    for (const std::string& one : ask(fmt::format("run {}", kCallsAtOnce))) {
      std::istringstream words(one);
      for (double& most : longest) {
        double time = 0;
        words >> time;
        most = std::max(most, time);
      }
    }
    times.insert(times.end(), longest.begin(), longest.end());
    estimate = nic_profiles::estimate(times);
  } while (!is_tight(estimate) && times.size() < kMostCalls &&
           std::chrono::steady_clock::now() < end);
  return estimate;
}

void serve(MeasuredJob& job) {
  while (true) {
    const std::string task = job.bootstrap().allgather("").front();
    if (task == "end") return;
    job.bootstrap().allgather(answer(job, task));
  }
}

}  // namespace weft::tune
