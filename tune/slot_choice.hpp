// Slot choice: whether the alltoallvs of a communicator go in slots (alltoall/flat/slots.hpp), and
// of which size, by what all ranks have for one another.
//
// What slots gain depends on counts that no rank knows. So ranks count what they have for ranks of
// other nodes, and now and then learn the largest of their counts (comm/irregular/slot_survey.hpp).
// The times are simulated once for a machine: with slots of each size, which take as long whatever
// is in them, and without, where every pair has a few bytes; with fewer pairs the latter is taken
// to be shorter in proportion, as it would be at best. Larger blocks than slots have cost a message
// each beside them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// What one rank has counted, on average of some calls; or the largest of what all have, number by
/// number. Numbers alone, to be compared one by one.
struct PairCounts {
  /// Of slots.
  static constexpr std::array<std::uint64_t, 4> kSizes = {8, 32, 128, 512};

  std::uint64_t blocks = 0;  // not empty, sent to other nodes and received from there
  std::array<std::uint64_t, kSizes.size()> larger = {};  // of these, than each of kSizes
  std::uint64_t planning_ns = 0;                         // by the algorithm that ran
};

/// A value.
class SlotChoice {
 public:
  /// A way to do the alltoallvs.
  struct Way {
    std::string algorithm;
    double time_ns = 0;      // predicted: without slots where every pair has a few bytes
    double planning_ns = 0;  // as rank 0 has measured it
    bool operator==(const Way&) const = default;
  };

  /// By simulation of `base`, the algorithm without slots. Never slots where they win by too little
  /// even where every pair has some bytes, and where the machine is too irregular to be simulated
  /// soon.
  static SlotChoice simulate(const Algorithm& base, const Facts& facts,
                             const sim::Hardware& hardware);

  /// Whether there are counts for which slots are chosen.
  bool may_take_slots() const { return ways_.size() > 1; }
  /// The first is the base; the i-th after it has slots of PairCounts::kSizes[i].
  const std::vector<Way>& ways() const { return ways_; }
  /// The number of the way for such counts, taken while the way `running` was in use.
  std::size_t choose(const PairCounts& counts, std::size_t running) const;

  /// One line, which from_text() reads back.
  std::string to_text() const;
  static SlotChoice from_text(std::string_view text);

  bool operator==(const SlotChoice&) const = default;

 private:
  std::vector<Way> ways_;
  double message_ns_ = 0;  // for each block that goes straight
  double all_blocks_ = 1;  // of a rank: to and from all ranks of other nodes
};

}  // namespace weft::tune
