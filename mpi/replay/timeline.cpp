#include "mpi/replay/timeline.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

constexpr std::size_t kParts = Replay::kTimelineParts;

/// Adds the time from `begin` to `end`, in units of a part.
void add(std::vector<double>& parts, double begin, double end) {
  auto at = static_cast<std::size_t>(begin);
  while (at < kParts && begin < end) {
    const double until = std::min(end, static_cast<double>(at + 1));
    parts[at] += until - begin;
    begin = until;
    ++at;
  }
}

}  // namespace

std::vector<RankTimeline> timelines(const Recording& recording, const VirtualRun& run) {
  std::vector<RankTimeline> all;
  const double length = run.ends.empty() ? 0 : *std::max_element(run.ends.begin(), run.ends.end());
  if (!(length > 0)) return all;
  const std::size_t ranks = run.spans.size();
  const std::size_t step = (ranks + Replay::kMostTimelines - 1) / Replay::kMostTimelines;
  const double scale = kParts / length;
  for (std::size_t rank = 0; rank < ranks; rank += step) {
    RankTimeline& one = all.emplace_back();
    one.rank = static_cast<int>(recording.parts[rank].rank);
    one.waiting.resize(kParts);
    one.moving.resize(kParts);
    for (const Span& span : run.spans[rank]) {
      add(one.waiting, span.begin * scale, (span.begin + span.waited) * scale);
      add(one.moving, (span.begin + span.waited) * scale, span.end * scale);
    }
  }
  return all;
}

}  // namespace weft::mpi
