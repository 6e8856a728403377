// Recordings of programs that are made up: ranks that work for given times, and collectives that
// take given times.
#pragma once

#include <algorithm>
#include <vector>

#include "mpi/recording/recording.hpp"

namespace weft::mpi::test {

/// A program whose ranks call collectives of all of them one after the other. Ticks are ns.
class MadeProgram {
 public:
  MadeProgram(int ranks, const std::string& machine) : now_(static_cast<std::size_t>(ranks), 1000) {
    recording_.ranks = static_cast<std::uint32_t>(ranks);
    recording_.facts = {{"machine", machine}, {"program", "made"}, {"host", "an MPI"}};
    std::vector<int> all(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
    for (int rank = 0; rank < ranks; ++rank) {
      RankRecording& part = recording_.parts.emplace_back();
      part.rank = static_cast<std::uint32_t>(rank);
      part.ended = true;
      part.first = {0, kBegin};
      part.communicators.push_back({.context = 1,
                                    .digest = 7,
                                    .ranks = recording_.ranks,
                                    .rank = part.rank,
                                    .nodes = 1,
                                    .members = runs_of(all)});
    }
  }

  /// Each rank works so long by itself.
  void work(const std::vector<std::uint64_t>& ns) {
    for (std::size_t rank = 0; rank < now_.size(); ++rank) now_[rank] += ns[rank];
  }

  /// A collective in which all wait for all, and which then takes `ns`.
  void call(RecordedKind kind, std::uint64_t ns) {
    kind.sized = true;
    kind.served = true;
    const std::uint64_t last = *std::ranges::max_element(now_);
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      RankRecording& part = recording_.parts[rank];
      const auto known = std::ranges::find(part.kinds, kind);
      const auto number = static_cast<std::uint32_t>(known - part.kinds.begin());
      if (known == part.kinds.end()) {
        part.kinds.push_back(kind);
        part.sums.emplace_back();
      }
      part.calls.push_back({number, now_[rank], last + ns - now_[rank]});
      ++part.sums[number].calls;
      part.sums[number].ticks += last + ns - now_[rank];
      now_[rank] = last + ns;
    }
  }

  Recording finish() {
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      recording_.parts[rank].last = {now_[rank], kBegin + now_[rank]};
    }
    return recording_;
  }

 private:
  static constexpr std::uint64_t kBegin = 1'000'000'000'000'000'000;

  Recording recording_;
  std::vector<std::uint64_t> now_;
};

}  // namespace weft::mpi::test
