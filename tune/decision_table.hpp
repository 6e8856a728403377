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

/// A rule: the algorithm for blocks of up to so many bytes (see block_bytes()).
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

  /// Rules of a collective, ascending, the last for any number of bytes. Replaces earlier ones.
  void set(plan::Collective collective, std::vector<Rule> rules);
  const std::vector<Rule>& rules(plan::Collective collective) const noexcept {
    return rules_[static_cast<std::size_t>(collective)];
  }
  /// Null where the table has no rules for the collective. Allocates nothing.
  const Rule* find(plan::Collective collective, std::uint64_t bytes) const noexcept;

  /// Takes the rules of `other` for all collectives for which it has some, and its date where that
  /// is later. UsageError where it is for another machine or adapter.
  void merge(const DecisionTable& other);

  bool operator==(const DecisionTable&) const = default;

 private:
  std::vector<std::vector<Rule>> rules_ =  // by collective
      std::vector<std::vector<Rule>>(plan::all_collectives().size());
};

/// Sizes at which a table is made, powers of two: 1 B to 4 MiB.
inline constexpr std::uint64_t kLargestGridBytes = 4 << 20;
/// The nearest of these sizes, by ratio.
std::uint64_t grid_bytes(std::uint64_t bytes) noexcept;
/// The most bytes whose grid_bytes() is `grid`.
std::uint64_t grid_end(std::uint64_t grid) noexcept;

/// The rules for problems like `like`, for all sizes. Sizes are rounded up to whole elements.
/// `progress` is called with the number of sizes done, and of all.
std::vector<Rule> tabulate(const plan::Problem& like, const Facts& facts,
                           const sim::Hardware& hardware, const ChoiceOptions& options = {},
                           const std::function<void(int done, int total)>& progress = nullptr);

/// The same problem with blocks of about `bytes` side by side, of whole elements.
plan::Problem resized(const plan::Problem& like, std::uint64_t bytes);

/// The JSON form, which parse_table() reads back to the same table.
std::string to_json(const DecisionTable& table);
/// `where` begins errors. UsageError, one line of the form "WHERE: alltoall[1].algorithm = ..",
/// on keys or rules that are missing, unknown, there twice or out of order.
DecisionTable parse_table(std::string_view where, std::string_view json);
/// Reads a table from a file. SystemError when it cannot be read.
DecisionTable load_table(const std::string& path);
/// The same of the file that WEFT_TABLE names, with UsageErrors alone, which name the variable.
DecisionTable load_set_table(const std::string& path);

}  // namespace weft::tune
