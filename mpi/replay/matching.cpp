#include "mpi/replay/matching.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace weft::mpi {

namespace {

using enum plan::Collective;

/// A rank's communicators as numbers that are alike on all ranks.
class Communicators {
 public:
  std::vector<std::size_t> numbers_of(const RankRecording& part) {
    std::map<Key, std::size_t> seen;
    std::vector<std::size_t> numbers;
    for (const RecordedCommunicator& one : part.communicators) {
      Key key{one.context, one.digest, one.ranks, 0};
      std::get<3>(key) = seen[key]++;
      numbers.push_back(known_.try_emplace(key, known_.size()).first->second);
    }
    return numbers;
  }
  std::size_t size() const { return known_.size(); }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, std::size_t>;
  std::map<Key, std::size_t> known_;
};

/// A call before it is known where its meeting lies.
struct Loose {
  std::size_t communicator = 0;
  std::size_t number = 0;  // among its calls
  Part part;
};

/// The blocking calls of a rank, in the order of their begin.
std::vector<RecordedCall> blocking_calls(const RankRecording& part) {
  std::vector<RecordedCall> calls;
  for (const RecordedCall& call : part.calls) {
    if (!part.kinds[call.kind].request) calls.push_back(call);
  }
  std::ranges::stable_sort(calls, {}, &RecordedCall::begin);
  return calls;
}

/// Of clocks: from ticks of a rank to ns since the first MPI_Init.
class Clock {
 public:
  Clock(const RankRecording& part, std::uint64_t origin_ns)
      : first_(part.first),
        each_(part.ns_per_tick()),
        origin_(static_cast<double>(static_cast<std::int64_t>(part.first.real_ns - origin_ns))) {}

  double at(std::uint64_t ticks) const {
    return origin_ + static_cast<double>(static_cast<std::int64_t>(ticks - first_.ticks)) * each_;
  }

 private:
  ClockReading first_;
  double each_;
  double origin_;
};

std::uint64_t earliest(const Recording& recording) {
  std::uint64_t first = UINT64_MAX;
  for (const RankRecording& part : recording.parts) first = std::min(first, part.first.real_ns);
  return first;
}

std::vector<Loose> loose_calls(const Recording& recording) {
  const std::uint64_t origin = earliest(recording);
  Communicators communicators;
  std::vector<Loose> all;
  for (std::uint32_t i = 0; i < recording.parts.size(); ++i) {
    const RankRecording& part = recording.parts[i];
    const std::vector<std::size_t> numbers = communicators.numbers_of(part);
    const Clock clock(part, origin);
    std::vector<std::size_t> made(numbers.size());
    for (const RecordedCall& call : blocking_calls(part)) {
      const std::uint32_t in = part.kinds[call.kind].communicator;
      all.push_back({numbers[in],
                     made[in]++,
                     {i, part.communicators[in].rank, call.kind, clock.at(call.begin),
                      clock.at(call.begin + call.ticks)}});
    }
  }
  return all;
}

/// How much the clocks of the nodes are to be moved.
std::vector<double> shifts(const Recording& recording, const std::vector<int>& node_of,
                           const Matched& matched) {
  const int nodes = node_of.empty() ? 0 : *std::ranges::max_element(node_of) + 1;
  const auto count = static_cast<std::size_t>(nodes);
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<double> least(count, -kFar), most(count, kFar), begin(count), end(count);
  for (const Meeting& meeting : matched.meetings) {
    const Part* const parts = &matched.parts[meeting.first];
    const RecordedKind& kind = recording.parts[parts[0].part].kinds[parts[0].kind];
    if (waits_for(kind, 0) != WaitsFor::all || kind.collective == reduce) continue;
    std::ranges::fill(begin, -kFar);
    std::ranges::fill(end, kFar);
    for (std::size_t i = 0; i < meeting.count; ++i) {
      const auto node = static_cast<std::size_t>(node_of[parts[i].part]);
      begin[node] = std::max(begin[node], parts[i].begin);
      end[node] = std::min(end[node], parts[i].end);
    }
    for (std::size_t node = 1; node < count; ++node) {
      if (begin[node] == -kFar || begin[0] == -kFar) continue;
      most[node] = std::min(most[node], end[0] - begin[node]);
      least[node] = std::max(least[node], begin[0] - end[node]);
    }
  }
  std::vector<double> by(count);
  for (std::size_t node = 1; node < count; ++node) {
    by[node] = least[node] <= most[node] ? std::clamp(0.0, least[node], most[node])
                                         : (least[node] + most[node]) / 2;
  }
  return by;
}

void gather_meetings(const Recording& recording, std::vector<Loose> loose, Matched& matched) {
  std::ranges::stable_sort(loose, [](const Loose& a, const Loose& b) {
    return std::tie(a.communicator, a.number) < std::tie(b.communicator, b.number);
  });
  for (std::size_t i = 0; i < loose.size(); ++i) {
    const bool is_new = i == 0 || loose[i].communicator != loose[i - 1].communicator ||
                        loose[i].number != loose[i - 1].number;
    if (is_new) matched.meetings.push_back({.first = i});
    Meeting& meeting = matched.meetings.back();
    ++meeting.count;
    const Part& part = loose[i].part;
    const RecordedKind& kind = recording.parts[part.part].kinds[part.kind];
    if (kind.irregular) meeting.bytes += kind.bytes;
    matched.parts.push_back(part);
  }
}

void list_steps(std::size_t ranks, Matched& matched) {
  matched.steps.assign(ranks, {});
  for (std::size_t i = 0; i < matched.meetings.size(); ++i) {
    const Meeting& meeting = matched.meetings[i];
    for (std::size_t at = meeting.first; at < meeting.first + meeting.count; ++at) {
      matched.steps[matched.parts[at].part].push_back({i, at});
    }
  }
  for (auto& steps : matched.steps) {
    std::ranges::stable_sort(
        steps, {}, [&](const Matched::Step& step) { return matched.parts[step.part].begin; });
  }
}

}  // namespace

WaitsFor waits_for(const RecordedKind& kind, std::uint32_t member) {
  if (kind.neighbours) return WaitsFor::nobody;
  switch (kind.collective) {
    case broadcast:
    case scatter:
      return WaitsFor::root;
    case reduce:
    case plan::Collective::gather:
      return member == kind.root ? WaitsFor::all : WaitsFor::nobody;
    case scan:
    case exscan:
      return WaitsFor::lower;
    default:
      return WaitsFor::all;
  }
}

std::vector<double> last_arrivals(const RecordedKind& kind, std::span<const std::uint32_t> members,
                                  std::span<const double> arrivals) {
  double last = 0, root = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    last = i == 0 ? arrivals[i] : std::max(last, arrivals[i]);
    if (members[i] == kind.root) root = arrivals[i];
  }
  std::vector<double> come(arrivals.begin(), arrivals.end());
  std::vector<std::pair<std::uint32_t, std::size_t>> ascending;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const WaitsFor whom = waits_for(kind, members[i]);
    if (whom == WaitsFor::all) come[i] = last;
    if (whom == WaitsFor::root) come[i] = std::max(come[i], root);
    if (whom == WaitsFor::lower) ascending.emplace_back(members[i], i);
  }
  std::ranges::sort(ascending);
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    come[ascending[i].second] = std::max(come[ascending[i].second], come[ascending[i - 1].second]);
  }
  return come;
}

Matched match(const Recording& recording, const std::vector<int>& node_of) {
  Matched matched;
  gather_meetings(recording, loose_calls(recording), matched);
  const std::vector<double> by = shifts(recording, node_of, matched);
  for (Part& part : matched.parts) {
    const double shift = by[static_cast<std::size_t>(node_of[part.part])];
    part.begin += shift;
    part.end += shift;
  }
  list_steps(recording.parts.size(), matched);
  return matched;
}

}  // namespace weft::mpi
