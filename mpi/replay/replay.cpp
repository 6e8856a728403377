#include "mpi/replay/replay.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "mpi/replay/line_key.hpp"
#include "mpi/replay/matching.hpp"
#include "mpi/replay/simulations.hpp"
#include "mpi/replay/timeline.hpp"
#include "mpi/replay/virtual_run.hpp"

namespace weft::mpi {

namespace {

constexpr double kNs = 1e-9;

class Replaying {
 public:
  Replaying(const Recording& recording, const Target& target)
      : recording_(recording),
        target_(target),
        here_(recorded_machine(recording)),
        matched_(match(recording, nodes())),
        simulations_(target),
        keys_(recording, target, here_, matched_, simulations_) {
    result_.program = recording.fact("program");
    result_.host = recording.fact("host");
    result_.machine_here = hierarchy::to_string(here_);
    result_.machine_there = hierarchy::to_string(target.machine);
    result_.adapter = target.adapter;
    result_.scaling = target.scaling;
  }

  Replay run(const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
    weigh();
    sort_meetings();
    simulations_.run(progress);
    result_.simulations = simulations_.count();
    measure();
    predict();
    add_lines();
    add_notes();
    return std::move(result_);
  }

 private:
  struct Line {
    LineKey key;
    ReplayedCalls calls;
    double each_ns = 0;  // predicted, of a call without waiting
    bool as_measured = false;
    double measured_moving_ns = 0, measured_weight = 0;
  };

  std::vector<int> nodes() const {
    std::vector<int> nodes;
    for (const RankRecording& part : recording_.parts) {
      nodes.push_back(here_.node_of(static_cast<int>(part.rank)));
    }
    return nodes;
  }

  double ranks() const { return static_cast<double>(recording_.parts.size()); }

  /// How many calls each recorded one stands for: of some only the sums are there.
  void weigh() {
    for (const RankRecording& part : recording_.parts) {
      std::vector<double> recorded(part.kinds.size()), weights(part.kinds.size(), 1);
      for (const RecordedCall& call : part.calls) ++recorded[call.kind];
      for (std::size_t kind = 0; kind < recorded.size(); ++kind) {
        const auto all = static_cast<double>(part.sums[kind].calls);
        if (part.kinds[kind].request) result_.requests += all / ranks();
        if (recorded[kind] > 0) weights[kind] = all / recorded[kind];
      }
      weights_.push_back(std::move(weights));
    }
  }

  void sort_meetings() {
    std::map<LineKey, std::size_t> known;
    for (std::size_t meeting = 0; meeting < matched_.meetings.size(); ++meeting) {
      const LineKey key = keys_.key_of(meeting);
      const auto [found, is_new] = known.try_emplace(key, lines_.size());
      if (is_new) {
        Line& line = lines_.emplace_back();
        line.key = key;
        line.calls.as_measured = key.why_measured();
        line.as_measured = !line.calls.as_measured.empty();
        if (!line.as_measured) simulations_.add(key.there);
      }
      line_of_.push_back(found->second);
    }
  }

  double weight(const Part& part) const { return weights_[part.part][part.kind]; }

  /// The times as they were, and of what is not simulated the mean.
  void measure() {
    std::vector<std::uint32_t> members;
    std::vector<double> arrivals;
    Times& times = result_.measured;
    for (std::size_t i = 0; i < matched_.meetings.size(); ++i) {
      const Meeting& meeting = matched_.meetings[i];
      Line& line = lines_[line_of_[i]];
      members.clear();
      arrivals.clear();
      for (std::size_t at = meeting.first; at < meeting.first + meeting.count; ++at) {
        members.push_back(matched_.parts[at].member);
        arrivals.push_back(matched_.parts[at].begin);
      }
      const std::vector<double> come = last_arrivals(keys_.kind_of(i), members, arrivals);
      for (std::size_t k = 0; k < meeting.count; ++k) {
        const Part& part = matched_.parts[meeting.first + k];
        const double time = part.end - part.begin, many = weight(part);
        const double waiting = std::clamp(come[k] - part.begin, 0.0, time);
        line.calls.calls += many / ranks();
        line.calls.measured_seconds += many * time * kNs / ranks();
        line.calls.measured_waiting_seconds += many * waiting * kNs / ranks();
        line.measured_moving_ns += many * (time - waiting);
        line.measured_weight += many;
      }
    }
    for (Line& line : lines_) {
      times.calls += line.calls.measured_seconds;
      times.waiting += line.calls.measured_waiting_seconds;
      if (line.as_measured) {
        line.each_ns = line.measured_moving_ns / line.measured_weight;
      } else {
        line.calls.choices = simulations_.choices(line.key.there);
        line.each_ns = line.calls.taken()->seconds / kNs;
      }
    }
  }

  /// Rank by rank, when the first call began and what followed the last one.
  void ends(std::vector<double>& heads, std::vector<double>& tails) {
    std::uint64_t origin = UINT64_MAX;
    for (const auto& part : recording_.parts) origin = std::min(origin, part.first.real_ns);
    for (std::size_t rank = 0; rank < recording_.parts.size(); ++rank) {
      const RankRecording& part = recording_.parts[rank];
      const auto end = static_cast<double>(part.last.real_ns - origin);
      const auto& steps = matched_.steps[rank];
      const bool is_empty = steps.empty();
      heads.push_back(is_empty ? 0 : matched_.parts[steps.front().part].begin);
      tails.push_back(is_empty ? end : std::max(0.0, end - matched_.parts[steps.back().part].end));
      result_.measured.run = std::max(
          result_.measured.run, static_cast<double>(part.last.real_ns - part.first.real_ns) * kNs);
      result_.measured.work +=
          static_cast<double>(part.last.real_ns - part.first.real_ns) * kNs / ranks();
    }
    result_.measured.work = std::max(0.0, result_.measured.work - result_.measured.calls);
  }

  void predict() {
    std::vector<double> heads, tails;
    ends(heads, tails);
    const double work = work_there(here_.ranks(), target_.machine.ranks(), target_.scaling);
    const VirtualRun run = run_again(
        matched_, work, [&](std::size_t meeting) { return lines_[line_of_[meeting]].each_ns; },
        [&](std::size_t meeting) -> const RecordedKind& { return keys_.kind_of(meeting); }, heads,
        tails);
    Times& times = result_.predicted;
    for (std::size_t rank = 0; rank < run.spans.size(); ++rank) {
      for (std::size_t i = 0; i < run.spans[rank].size(); ++i) {
        const Span& span = run.spans[rank][i];
        ReplayedCalls& calls = lines_[line_of_[span.meeting]].calls;
        const double many = weight(matched_.parts[matched_.steps[rank][i].part]) / ranks();
        calls.seconds += many * (span.end - span.begin) * kNs;
        calls.waiting_seconds += many * span.waited * kNs;
      }
    }
    for (const Line& line : lines_) {
      times.calls += line.calls.seconds;
      times.waiting += line.calls.waiting_seconds;
    }
    times.work = result_.measured.work * work;
    // Calls that are in the sums alone are not in the run: they are added to its end.
    double in_run = 0, ended = 0;
    for (const auto& spans : run.spans) {
      for (const Span& span : spans) in_run += (span.end - span.begin) * kNs / ranks();
    }
    for (const double end : run.ends) ended = std::max(ended, end * kNs);
    times.run = ended + std::max(0.0, times.calls - in_run);
    result_.timeline = timelines(recording_, run);
  }

  void add_lines() {
    for (Line& line : lines_) {
      ReplayedCalls& calls = line.calls;
      const LineKey& key = line.key;
      calls.collective = std::string(to_string(key.collective));
      if (key.neighbours) calls.collective = "neighbours";
      calls.here = calls.there = key.here;
      calls.irregular = key.irregular;
      if (key.sized) calls.bytes_here = key.bytes;
      if (!line.as_measured) {
        calls.there = simulations_.shape(key.there.machine);
        calls.bytes_there = key.there.bytes;
      }
      result_.calls.push_back(std::move(calls));
    }
    std::ranges::stable_sort(result_.calls,
                             [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  }

  void add_notes() {
    auto& notes = result_.notes;
    std::uint64_t left_out = 0, unknown = 0;
    std::size_t ended = 0;
    for (const RankRecording& part : recording_.parts) {
      left_out += part.calls_left_out;
      unknown += part.calls_unknown;
      if (part.ended) ++ended;
    }
    if (ended < recording_.ranks) {
      notes.push_back(
          fmt::format("{} of {} ranks came to their ends; of the others there is what "
                      "they had written before",
                      ended, recording_.ranks));
    }
    if (left_out > 0) {
      notes.push_back(
          fmt::format("{} calls were counted and not written down, as the recording is "
                      "bounded: they take what the others of their kind do",
                      left_out));
    }
    if (unknown > 0) {
      notes.push_back(
          fmt::format("{} calls are in no time here: they had too many different sizes "
                      "or communicators",
                      unknown));
    }
    if (result_.requests > 0) {
      notes.push_back(
          fmt::format("{:.0f} calls of a rank were not blocking, and are in no time "
                      "here: they go on while the program works",
                      result_.requests));
    }
  }

  const Recording& recording_;
  const Target& target_;
  const hierarchy::Machine here_;
  const Matched matched_;
  Simulations simulations_;
  LineKeys keys_;
  std::vector<std::vector<double>> weights_;  // by part and kind
  std::vector<Line> lines_;
  std::vector<std::size_t> line_of_;  // by meeting
  Replay result_;
};

}  // namespace

const Choice* ReplayedCalls::taken() const {
  const auto found = std::ranges::find(choices, true, &Choice::taken);
  return found == choices.end() ? nullptr : &*found;
}

hierarchy::Machine recorded_machine(const Recording& recording) {
  const std::string& text = recording.fact("machine");
  if (text.empty()) {
    // Without rank 0's end nobody has said: as many nodes as a communicator of all ranks had.
    for (const RankRecording& part : recording.parts) {
      for (const RecordedCommunicator& one : part.communicators) {
        if (one.ranks != recording.ranks || one.nodes == 0 || one.ranks % one.nodes != 0) continue;
        return hierarchy::Machine::uniform(static_cast<int>(one.nodes),
                                           static_cast<int>(one.ranks / one.nodes));
      }
    }
    return hierarchy::Machine::uniform(1, static_cast<int>(recording.ranks));
  }
  auto machine = hierarchy::Machine::parse(text);
  if (machine.ranks() != static_cast<int>(recording.ranks)) {
    throw_usage("the recording of {} ranks says that they ran on {}", recording.ranks, text);
  }
  return machine;
}

Replay replay(const Recording& recording, const Target& target,
              const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  return Replaying(recording, target).run(progress);
}

}  // namespace weft::mpi
