#include "mpi/recording/recording.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "mpi/recording/bytes.hpp"
#include "mpi/recording/format.hpp"

namespace weft::mpi {

namespace {

using namespace recording_format;

void write(ByteWriter& to, const RecordedCommunicator& one) {
  to.number(one.two_groups ? kTwoGroups : 0);
  to.number(one.context);
  to.number(one.digest);
  to.number(one.ranks);
  to.number(one.rank);
  to.number(one.nodes);
  to.number(one.members.size());
  for (const RankRun& run : one.members) {
    to.number(run.first);
    to.number(run.stride);
    to.number(run.count);
  }
}

void write(ByteWriter& to, const RecordedKind& one) {
  to.number(one.communicator);
  to.number(static_cast<unsigned>(one.collective));
  to.number((one.request ? kRequest : 0u) | (one.served ? kServed : 0u) |
            (one.irregular ? kIrregular : 0u) | (one.sized ? kSized : 0u) |
            (one.neighbours ? kNeighbours : 0u) | (one.commutative ? kCommutative : 0u) |
            (one.associative ? kAssociative : 0u));
  to.number(one.element_bytes);
  to.number(one.root);
  to.number(one.bytes);
}

}  // namespace

double RankRecording::ns_per_tick() const {
  if (last.ticks <= first.ticks || last.real_ns <= first.real_ns) return 1;
  return static_cast<double>(last.real_ns - first.real_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

bool Recording::is_complete() const {
  return parts.size() == ranks &&
         std::ranges::all_of(parts, [](const RankRecording& part) { return part.ended; });
}

const std::string& Recording::fact(const std::string& name) const {
  static const std::string none;
  const auto found = facts.find(name);
  return found == facts.end() ? none : found->second;
}

std::string recording_head() {
  ByteWriter to;
  to.number(Recording::kVersion);
  return std::string(recording_format::kMagic) + to.take();
}

std::string to_bytes(const RecordingBlock& block) {
  ByteWriter to;
  to.number(block.ranks);
  to.number(block.rank);
  to.number(block.is_last ? recording_format::kIsLast : 0);
  to.number(block.clock.ticks);
  to.number(block.clock.real_ns);
  to.number(block.facts.size());
  for (const auto& [name, text] : block.facts) {
    to.text(name);
    to.text(text);
  }
  to.number(block.communicators.size());
  for (const RecordedCommunicator& one : block.communicators) write(to, one);
  to.number(block.kinds.size());
  for (const RecordedKind& one : block.kinds) write(to, one);
  to.number(block.sums.size());
  for (const auto& [kind, sum] : block.sums) {
    to.number(kind);
    to.number(sum.calls);
    to.number(sum.ticks);
  }
  to.number(block.calls_left_out);
  to.number(block.calls_unknown);
  to.number(block.calls.size());
  std::uint64_t begin = block.clock.ticks;
  for (const RecordedCall& call : block.calls) {
    to.number(call.kind);
    to.difference(call.begin, begin);
    to.number(call.ticks);
    begin = call.begin;
  }
  ByteWriter framed;
  framed.text(to.bytes());
  framed.word(checksum(to.bytes()));
  return framed.take();
}

std::string to_bytes(const Recording& recording) {
  std::string bytes = recording_head();
  for (const RankRecording& part : recording.parts) {
    RecordingBlock block{.rank = part.rank, .ranks = recording.ranks, .clock = part.first};
    if (&part == &recording.parts.front()) block.facts = recording.facts;
    bytes += to_bytes(block);
    block.facts.clear();
    block.is_last = part.ended;
    block.clock = part.last;
    block.communicators = part.communicators;
    block.kinds = part.kinds;
    for (std::uint32_t kind = 0; kind < part.kinds.size(); ++kind) {
      block.sums.emplace_back(kind, part.sums[kind]);
    }
    block.calls = part.calls;
    block.calls_left_out = part.calls_left_out;
    block.calls_unknown = part.calls_unknown;
    bytes += to_bytes(block);
  }
  return bytes;
}

std::vector<int> ranks_of(const std::vector<RankRun>& runs) {
  std::vector<int> ranks;
  for (const RankRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      ranks.push_back(static_cast<int>(run.first + i * run.stride));
    }
  }
  return ranks;
}

std::vector<RankRun> runs_of(const std::vector<int>& ranks) {
  std::vector<RankRun> runs;
  for (const int rank : ranks) {
    if (rank < 0) return {};
    const auto next = static_cast<std::uint32_t>(rank);
    if (!runs.empty()) {
      RankRun& run = runs.back();
      if (run.count == 1 && next > run.first) {
        run.stride = next - run.first;
        run.count = 2;
        continue;
      }
      if (run.count > 1 && next == run.first + run.stride * run.count) {
        ++run.count;
        continue;
      }
    }
    if (runs.size() == RecordedCommunicator::kMostRuns) return {};
    runs.push_back({next, 0, 1});
  }
  return runs;
}

std::uint64_t rounded(std::uint64_t bytes) noexcept {
  constexpr int kDigits = 4;
  const auto width = static_cast<int>(std::bit_width(bytes));
  if (width <= kDigits) return bytes;
  const int shift = width - kDigits;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (bytes > UINT64_MAX - half) return bytes >> shift << shift;
  return (bytes + half) >> shift << shift;
}

}  // namespace weft::mpi
