// Family: plans of one shape, one for every size of a block, whose numbers follow from the size.
//
// A block of any size is some *units* of equal size, the same number for all sizes, less a *tail*
// that the last unit lacks. Algorithms cut vectors between units (Problem::cut_bytes), so where
// every number of a plan is units less tails, the same plan with another unit and another tail is
// the plan of another size. Numbers are found by emitting the plan for two sample sizes, so no
// algorithm knows of it. Nothing in a family is rounded up to cache lines: a number that is would
// not follow from the unit.
//
// Why it is enough to verify a few members: for tail / unit fixed, all numbers of all plans are in
// proportion to the unit, so members differ in scale alone. Between two ratios every number moves
// on a line, and so does the difference of any two. Where all comparisons that the verifier makes
// have the same outcome at both ends, they have it between (plan/verify/verify_family.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::plan {

/// Bytes of a unit, and of the tail, which is less.
struct Extent {
  std::uint64_t unit = 0;
  std::uint64_t tail = 0;

  bool operator==(const Extent&) const = default;
};

/// The extent of blocks of `block_bytes` in `units` units of whole elements. nullopt: such blocks
/// are so small that more than one unit would lack something.
std::optional<Extent> extent_of(std::uint64_t block_bytes, std::uint64_t element_bytes, int units);

/// A number of bytes: so many units less so many tails.
struct Form {
  std::int32_t units = 0;
  std::int32_t tails = 0;

  std::uint64_t at(const Extent& extent) const noexcept {
    return static_cast<std::uint64_t>(units) * extent.unit -
           static_cast<std::uint64_t>(tails) * extent.tail;
  }
  bool operator==(const Form&) const = default;
};

/// Sample sizes have no relation between unit and tails but those that all sizes have. All are
/// multiples of what plans round up to.
inline constexpr std::uint64_t kSampleUnit = std::uint64_t{64} * 1'000'003;
inline constexpr std::uint64_t kSampleTails[] = {std::uint64_t{64} * 200'003,
                                                 std::uint64_t{64} * 600'011};

/// The form of a number that is `first` and `second` at the two sample sizes; nullopt: it has none.
std::optional<Form> form_of(std::uint64_t first, std::uint64_t second) noexcept;

class Family {
 public:
  /// From the plans of the two sample sizes; nullopt where they differ in more than numbers, in
  /// numbers that have no form, or need more memory for a longer tail.
  static std::optional<Family> of(const Plan& first, const Plan& second);
  /// From the plan of the first sample size alone, where each of its numbers is a multiple of the
  /// block, of `units` units; nullopt elsewhere.
  static std::optional<Family> of_whole_blocks(const Plan& first, int units);

  /// The most units that divide those of every number; 0: it has no numbers.
  std::uint64_t common_units() const;
  /// The same in units that are so many of these: a divisor of the common ones.
  Family in_larger_units(std::uint64_t times) const;

  Plan at(const Extent& extent) const;
  /// The blocks of a slice of an op.
  const Form& block_of(OpId op, bool is_source) const {
    return numbers_[6 * op + 3 * is_source + 1];
  }
  /// Ops, peers and counts, with the numbers of some member.
  const Plan& shape() const { return shape_; }

 private:
  Family() = default;
  template <class FormOf>
  bool note_numbers(const Plan& other, FormOf form_of_numbers);

  Plan shape_;
  Form spaces_[4] = {};        // input, output, stage, scratch
  std::vector<Form> numbers_;  // of each op: offset, block and stride of dst, then of src
};

}  // namespace weft::plan
