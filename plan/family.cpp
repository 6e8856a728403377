#include "plan/family.hpp"

#include <algorithm>
#include <numeric>

#include "base/cast.hpp"

namespace weft::plan {

namespace {

bool is_alike(const Slice& a, const Slice& b) {
  return a.space == b.space && a.owner == b.owner && a.count == b.count;
}

bool is_alike(const Plan& a, const Plan& b) {
  if (a.rank() != b.rank() || a.ranks() != b.ranks() || a.ops().size() != b.ops().size()) {
    return false;
  }
  for (OpId id = 0; id < a.ops().size(); ++id) {
    const Op& one = a.ops()[id];
    const Op& other = b.ops()[id];
    if (one.kind != other.kind || one.dst_operand != other.dst_operand || one.peer != other.peer ||
        !is_alike(one.dst, other.dst) || !is_alike(one.src, other.src) ||
        !std::ranges::equal(a.after(id), b.after(id))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Extent> extent_of(std::uint64_t block_bytes, std::uint64_t element_bytes, int units) {
  const auto count = static_cast<std::uint64_t>(units);
  const std::uint64_t unit = ceil_div(ceil_div(block_bytes, element_bytes), count) * element_bytes;
  const Extent extent{unit, count * unit - block_bytes};
  if (extent.tail >= extent.unit) return std::nullopt;
  return extent;
}

std::optional<Form> form_of(std::uint64_t first, std::uint64_t second) noexcept {
  constexpr auto kApart = static_cast<std::int64_t>(kSampleTails[1] - kSampleTails[0]);
  const auto less = static_cast<std::int64_t>(first - second);
  if (less % kApart != 0) return std::nullopt;
  const std::int64_t tails = less / kApart;
  const std::int64_t whole =
      static_cast<std::int64_t>(first) + tails * static_cast<std::int64_t>(kSampleTails[0]);
  const std::int64_t units = whole / static_cast<std::int64_t>(kSampleUnit);
  const bool fits = std::in_range<std::int32_t>(units) && std::in_range<std::int32_t>(tails);
  if (whole % static_cast<std::int64_t>(kSampleUnit) != 0 || !fits) return std::nullopt;
  return Form{static_cast<std::int32_t>(units), static_cast<std::int32_t>(tails)};
}

/// Finds the forms of all numbers of the shape and of those in their places in `other`; false where
/// one has none.
template <class FormOf>
bool Family::note_numbers(const Plan& other, FormOf form_of_numbers) {
  bool has_forms = true;
  const auto note = [&](Form& form, std::uint64_t one, std::uint64_t another) {
    const auto found = form_of_numbers(one, another);
    has_forms &= found.has_value();
    form = found.value_or(Form());
  };
  note(spaces_[0], shape_.input_bytes(), other.input_bytes());
  note(spaces_[1], shape_.output_bytes(), other.output_bytes());
  note(spaces_[2], shape_.stage_bytes(), other.stage_bytes());
  note(spaces_[3], shape_.scratch_bytes(), other.scratch_bytes());
  // What is provided for the largest size, which has no tail, serves all.
  has_forms &= std::ranges::all_of(spaces_, [](const Form& form) { return form.tails >= 0; });
  numbers_.reserve(6 * shape_.ops().size());
  for (OpId id = 0; id < shape_.ops().size() && has_forms; ++id) {
    for (const auto side : {&Op::dst, &Op::src}) {
      const Slice& one = shape_.ops()[id].*side;
      const Slice& another = other.ops()[id].*side;
      note(numbers_.emplace_back(), one.offset, another.offset);
      note(numbers_.emplace_back(), one.block_bytes, another.block_bytes);
      note(numbers_.emplace_back(), one.stride, another.stride);
    }
  }
  return has_forms;
}

std::optional<Family> Family::of(const Plan& first, const Plan& second) {
  if (!is_alike(first, second)) return std::nullopt;
  Family family;
  family.shape_ = first;
  if (!family.note_numbers(second, form_of)) return std::nullopt;
  return family;
}

std::optional<Family> Family::of_whole_blocks(const Plan& first, int units) {
  const std::uint64_t block = static_cast<std::uint64_t>(units) * kSampleUnit - kSampleTails[0];
  const auto form_of_blocks = [&](std::uint64_t number, std::uint64_t) -> std::optional<Form> {
    const std::uint64_t blocks = number / block;
    const bool fits = std::in_range<std::int32_t>(blocks * static_cast<std::uint64_t>(units));
    if (number % block != 0 || !fits) return std::nullopt;
    return Form{static_cast<std::int32_t>(blocks) * units, static_cast<std::int32_t>(blocks)};
  };
  Family family;
  family.shape_ = first;
  if (!family.note_numbers(first, form_of_blocks)) return std::nullopt;
  return family;
}

std::uint64_t Family::common_units() const {
  std::int32_t divisor = 0;
  for (const Form& form : spaces_) divisor = std::gcd(divisor, form.units);
  for (const Form& form : numbers_) divisor = std::gcd(divisor, form.units);
  return static_cast<std::uint64_t>(divisor);
}

Family Family::in_larger_units(std::uint64_t times) const {
  Family result = *this;
  const auto by = static_cast<std::int32_t>(times);
  for (Form& form : result.spaces_) form.units /= by;
  for (Form& form : result.numbers_) form.units /= by;
  return result;
}

Plan Family::at(const Extent& extent) const {
  Plan plan = shape_;
  plan.input_bytes_ = spaces_[0].at(extent);
  plan.output_bytes_ = spaces_[1].at(extent);
  plan.stage_bytes_ = spaces_[2].at(extent);
  plan.scratch_bytes_ = spaces_[3].at(extent);
  auto number = numbers_.begin();
  for (Op& op : plan.ops_) {
    for (const auto side : {&Op::dst, &Op::src}) {
      Slice& slice = op.*side;
      slice.offset = (number++)->at(extent);
      slice.block_bytes = (number++)->at(extent);
      slice.stride = (number++)->at(extent);
    }
  }
  return plan;
}

}  // namespace weft::plan
