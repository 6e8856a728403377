#include "mpi/replay/virtual_run.hpp"

#include <algorithm>
#include <deque>

namespace weft::mpi {

namespace {

class Run {
 public:
  Run(const Matched& matched, double work,
      const std::function<double(std::size_t meeting)>& time_ns,
      const std::function<const RecordedKind&(std::size_t meeting)>& kind_of,
      const std::vector<double>& heads)
      : matched_(matched),
        work_(work),
        time_ns_(time_ns),
        kind_of_(kind_of),
        arrived_(matched.meetings.size()),
        is_over_(matched.meetings.size()),
        next_(matched.steps.size()),
        now_(heads) {
    result_.spans.resize(matched.steps.size());
    for (double& now : now_) now *= work_;
  }

  VirtualRun run(const std::vector<double>& tails) {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) ready_.push_back(rank);
    while (true) {
      while (!ready_.empty()) {
        const std::size_t rank = ready_.front();
        ready_.pop_front();
        arrive(rank);
      }
      if (!release_one()) break;
    }
    result_.ends = now_;
    for (std::size_t rank = 0; rank < tails.size(); ++rank) {
      result_.ends[rank] += tails[rank] * work_;
    }
    return std::move(result_);
  }

 private:
  void arrive(std::size_t rank) {
    const auto& steps = matched_.steps[rank];
    const std::size_t at = next_[rank];
    if (at == steps.size()) return;
    const Matched::Step& step = steps[at];
    if (at > 0) {
      const double free = matched_.parts[steps[at - 1].part].end;
      now_[rank] += std::max(0.0, matched_.parts[step.part].begin - free) * work_;
    }
    result_.spans[rank].push_back({step.meeting, now_[rank], 0, now_[rank]});
    arrived_[step.meeting].push_back(rank);
    // Of threads that called in another order than the replay does some come late.
    if (is_over_[step.meeting]) {
      end(rank, now_[rank], time_ns_(step.meeting));
    } else if (arrived_[step.meeting].size() == matched_.meetings[step.meeting].count) {
      release(step.meeting);
    }
  }

  void release(std::size_t meeting) {
    is_over_[meeting] = true;
    const std::vector<std::size_t>& ranks = arrived_[meeting];
    std::vector<std::uint32_t> members;
    std::vector<double> arrivals;
    for (const std::size_t rank : ranks) {
      members.push_back(matched_.parts[matched_.steps[rank][next_[rank]].part].member);
      arrivals.push_back(now_[rank]);
    }
    const std::vector<double> come = last_arrivals(kind_of_(meeting), members, arrivals);
    const double time = time_ns_(meeting);
    for (std::size_t i = 0; i < ranks.size(); ++i) end(ranks[i], come[i], time);
  }

  void end(std::size_t rank, double come, double time) {
    Span& span = result_.spans[rank].back();
    span.waited = come - span.begin;
    span.end = now_[rank] = come + time;
    ++next_[rank];
    ready_.push_back(rank);
  }

  /// Where all ranks wait: some meeting that has begun goes on without the others.
  bool release_one() {
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] == matched_.steps[rank].size()) continue;
      release(matched_.steps[rank][next_[rank]].meeting);
      return true;
    }
    return false;
  }

  const Matched& matched_;
  const double work_;
  const std::function<double(std::size_t)>& time_ns_;
  const std::function<const RecordedKind&(std::size_t)>& kind_of_;
  std::vector<std::vector<std::size_t>> arrived_;  // by meeting
  std::vector<char> is_over_;
  std::vector<std::size_t> next_;  // by rank, of its steps
  std::vector<double> now_;
  std::deque<std::size_t> ready_;
  VirtualRun result_;
};

}  // namespace

VirtualRun run_again(const Matched& matched, double work,
                     const std::function<double(std::size_t meeting)>& time_ns,
                     const std::function<const RecordedKind&(std::size_t meeting)>& kind_of,
                     const std::vector<double>& heads, const std::vector<double>& tails) {
  return Run(matched, work, time_ns, kind_of, heads).run(tails);
}

}  // namespace weft::mpi
