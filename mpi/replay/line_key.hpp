// Line key: what tells the calls of one line of a replay from those of another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "mpi/replay/matching.hpp"
#include "mpi/replay/simulations.hpp"

namespace weft::mpi {

struct LineKey {
  plan::Collective collective = plan::Collective::barrier;
  bool irregular = false, sized = true, neighbours = false, two_groups = false;
  Shape here;
  std::uint64_t bytes = 0;  // of a block or vector; of irregular calls the mean
  CallThere there;          // where it is simulated

  auto operator<=>(const LineKey&) const = default;

  /// Why the calls take what they took; empty: they are simulated.
  std::string why_measured() const;
};

/// Makes them. All arguments must outlive it.
class LineKeys {
 public:
  LineKeys(const Recording& recording, const Target& target, const hierarchy::Machine& here,
           const Matched& matched, Simulations& simulations)
      : recording_(recording),
        target_(target),
        here_(here),
        matched_(matched),
        simulations_(simulations) {}

  LineKey key_of(std::size_t meeting);
  /// By the first of its ranks.
  const RecordedKind& kind_of(std::size_t meeting) const;

 private:
  const RecordedCommunicator& communicator_of(std::size_t meeting) const;
  std::uint64_t bytes_of(std::size_t meeting) const;
  CallThere there(const LineKey& key, const RecordedKind& kind, const RecordedCommunicator& in);
  std::size_t machine_of(const RecordedCommunicator& in);

  const Recording& recording_;
  const Target& target_;
  const hierarchy::Machine& here_;
  const Matched& matched_;
  Simulations& simulations_;
  // By digest, ranks and nodes.
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::size_t> machines_;
};

}  // namespace weft::mpi
