// Decision table: algorithms by collective and size, chosen in advance for one machine and adapter.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

/// Up to so many bytes of a block (see block_bytes()), this algorithm.
struct Rule {
  static constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t up_to_bytes = kAnyBytes;
  std::string algorithm;

  bool operator==(const Rule&) const = default;
};

/// A value.
class DecisionTable {
 public:
  static constexpr int kSchema = 1;  ///< of the JSON form

  std::string machine;  ///< as hierarchy::to_string()
  std::string adapter;  ///< the name of its profile
  std::string date;     ///< of the choice, as 2026-11-21

  /// Ascending, the last for any number of bytes. Replaces what it had for the collective.
  void set(plan::Collective collective, std::vector<Rule> rules);
  const std::vector<Rule>& rules(plan::Collective collective) const noexcept {
    return rules_[static_cast<std::size_t>(collective)];
  }
  /// Null where the table says nothing of the collective. Allocates nothing.
  const Rule* find(plan::Collective collective, std::uint64_t bytes) const noexcept;

  bool operator==(const DecisionTable&) const = default;

 private:
  std::vector<std::vector<Rule>> rules_ =  // by collective
      std::vector<std::vector<Rule>>(plan::all_collectives().size());
};

/// Powers of two, as far apart as a table is precise: 1 B to 4 MiB.
inline constexpr std::uint64_t kLargestGridBytes = 4 << 20;
/// The one of them that is nearest, as a ratio.
std::uint64_t grid_bytes(std::uint64_t bytes) noexcept;
/// Where the next one is nearer: the most bytes whose grid_bytes() is `grid`.
std::uint64_t grid_end(std::uint64_t grid) noexcept;

/// The rules for problems as `like`, of all sizes. Sizes that are not of whole elements are rounded
/// up to such. `progress` is told how many sizes are done, of how many.
std::vector<Rule> tabulate(const plan::Problem& like, const Facts& facts,
                           const sim::Hardware& hardware, const ChoiceOptions& options = {},
                           const std::function<void(int done, int total)>& progress = nullptr);

/// The same problem with blocks of about `bytes` side by side, of whole elements.
plan::Problem resized(const plan::Problem& like, std::uint64_t bytes);

/// The JSON form, which parse_table() reads back to the same table.
std::string to_json(const DecisionTable& table);
/// `where` begins errors. UsageError, one line of the form "WHERE: alltoall[1].algorithm = ..",
/// on what is missing, unknown, twice there or not in order.
DecisionTable parse_table(std::string_view where, std::string_view json);
/// Of a file. SystemError when it cannot be read.
DecisionTable load_table(const std::string& path);

}  // namespace weft::tune
