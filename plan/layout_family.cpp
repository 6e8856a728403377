#include "plan/layout_family.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/cast.hpp"
#include "plan/builder.hpp"

namespace weft::plan {

bool is_side_by_side(std::span<const Block> layout) noexcept {
  std::uint64_t end = 0;
  for (const Block& block : layout) {
    if (block.bytes == 0) continue;
    if (block.offset != end) return false;
    end += block.bytes;
  }
  return true;
}

std::vector<Block> sample_layout(int ranks, int which) {
  constexpr std::uint64_t kLeast = kSampleBlock / 3 * 2;
  std::vector<Block> layout;
  std::uint64_t random = 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(which) + 1);
  std::uint64_t end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    random += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    const std::uint64_t bytes = kLeast + (mixed % kLeast) / kSliceAlignment * kSliceAlignment;
    layout.push_back({end, bytes});
    end += bytes;
  }
  return layout;
}

namespace {

/// Of a space of a rank.
struct Mark {
  Space space = Space::input;
  int owner = 0;
  std::uint64_t offset = 0;

  auto operator<=>(const Mark&) const = default;
};

/// Where slices begin and end, by memory and then by offset.
std::vector<Mark> marks_of(const Plan& plan) {
  std::vector<Mark> marks = {{Space::stage, plan.rank(), plan.stage_bytes()},
                             {Space::scratch, plan.rank(), plan.scratch_bytes()}};
  for (const Op& op : plan.ops()) {
    for (const Slice* slice : {&op.dst, &op.src}) {
      if (slice->empty()) continue;
      marks.push_back({slice->space, slice->owner, slice->offset});
      marks.push_back({slice->space, slice->owner, slice->end()});
    }
  }
  std::ranges::sort(marks);
  marks.erase(std::ranges::unique(marks).begin(), marks.end());
  return marks;
}

/// The runs of a sample, by their sizes.
class Runs {
 public:
  explicit Runs(std::span<const Block> layout) : ranks_(layout.size()), sums_{0} {
    for (std::uint32_t i = 0; i < 2 * ranks_; ++i) {
      const std::uint64_t bytes = layout[i % ranks_].bytes;
      sums_.push_back(sums_.back() + bytes);
      if (i < ranks_) single_.emplace(bytes, i);
    }
  }

  /// Its first block, and one behind its last.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> find(std::uint64_t bytes) const {
    if (const auto one = single_.find(bytes); one != single_.end()) {
      return std::pair(one->second, one->second + 1);
    }
    for (std::uint32_t first = 0; first < ranks_; ++first) {
      const auto begin = sums_.begin() + first;
      const auto end = begin + static_cast<std::ptrdiff_t>(ranks_) + 1;
      const auto found = std::lower_bound(begin, end, *begin + bytes);
      if (found == end || *found != *begin + bytes) continue;
      return std::pair(first, static_cast<std::uint32_t>(found - sums_.begin()));
    }
    return std::nullopt;
  }

 private:
  std::size_t ranks_;
  std::vector<std::uint64_t> sums_;
  std::unordered_map<std::uint64_t, std::uint32_t> single_;
};

}  // namespace

/// Finds the positions of a sample's plan.
class LayoutFamily::Finder {
 public:
  Finder(const Problem& problem, const Plan& plan)
      : runs_(problem.layout), marks_(marks_of(plan)) {}

  /// False: some position is no run further on than the one before.
  bool find_positions(LayoutFamily& family) {
    Mark before;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      const Mark& mark = marks_[i];
      const bool is_first = i == 0 || mark.space != before.space || mark.owner != before.owner;
      const std::uint64_t from = is_first ? 0 : before.offset;
      const std::uint32_t index = is_first ? 0 : index_.back();
      before = mark;
      if (mark.offset == from) {
        index_.push_back(index);
        continue;
      }
      const auto run = runs_.find(mark.offset - from);
      if (!run) return false;
      index_.push_back(index_of({index, run->first, run->second}, family));
    }
    return true;
  }

  /// That of a position, which may be a sum, or that of another memory.
  std::uint32_t index_of(const Position& position, LayoutFamily& family) {
    if (position.end > family.ranks()) family.turns_ = 2;
    if (position.before == position.first) return position.end;
    const auto next =
        checked_cast<std::uint32_t>(family.first_position() + family.positions_.size());
    const auto [known, is_new] = known_.emplace(position, next);
    if (is_new) family.positions_.push_back(position);
    return known->second;
  }

  std::uint32_t at(const Mark& mark) const {
    return index_[static_cast<std::size_t>(std::ranges::lower_bound(marks_, mark) -
                                           marks_.begin())];
  }
  Piece piece_of(const Slice& slice) const {
    if (slice.empty()) return {};
    return {at({slice.space, slice.owner, slice.offset}),
            at({slice.space, slice.owner, slice.end()})};
  }

 private:
  const Runs runs_;
  const std::vector<Mark> marks_;
  std::vector<std::uint32_t> index_;  // of the position of each mark
  std::map<Position, std::uint32_t> known_;
};

std::optional<LayoutFamily> LayoutFamily::of(const Problem& first_problem, const Plan& first,
                                             const Problem& second_problem, const Plan& second) {
  if (first.ranks() > kMostLaidOut) return std::nullopt;
  const auto is_row = [](const Op& op) { return op.dst.count <= 1 && op.src.count <= 1; };
  if (!std::ranges::all_of(first.ops(), is_row)) return std::nullopt;
  LayoutFamily family(first);
  Finder finder(first_problem, first);
  if (!finder.find_positions(family)) return std::nullopt;
  for (const Op& op : first.ops()) {
    family.pieces_.push_back(finder.piece_of(op.dst));
    family.pieces_.push_back(finder.piece_of(op.src));
  }
  family.stage_end_ = finder.at({Space::stage, first.rank(), first.stage_bytes()});
  family.scratch_end_ = finder.at({Space::scratch, first.rank(), first.scratch_bytes()});
  if (family.at(second_problem) != second) return std::nullopt;
  return family;
}

bool LayoutFamily::locate(std::span<const Block> layout,
                          std::span<std::uint64_t> at) const noexcept {
  std::uint64_t* next = at.data();
  std::uint64_t end = 0;
  bool has_empty = false;
  *next = 0;
  for (std::size_t turn = turns_; turn != 0; --turn) {
    for (const Block& block : layout) {
      has_empty |= block.bytes == 0;
      *++next = end += block.bytes;
    }
  }
  next = at.data() + first_position();
  for (const Position& position : positions_) {
    *next++ = at[position.before] + at[position.end] - at[position.first];
  }
  return has_empty;
}

Plan LayoutFamily::at(const Problem& problem) const {
  std::vector<std::uint64_t> at(positions());
  locate(problem.layout, at);
  Plan plan = shape_;
  plan.input_bytes_ = problem.input_bytes(plan.rank());
  plan.output_bytes_ = problem.output_bytes(plan.rank());
  plan.stage_bytes_ = at[stage_end_];
  plan.scratch_bytes_ = at[scratch_end_];
  for (OpId id = 0; id < plan.ops_.size(); ++id) {
    for (const bool is_source : {false, true}) {
      Slice& slice = is_source ? plan.ops_[id].src : plan.ops_[id].dst;
      const Piece& of = piece(id, is_source);
      slice = Slice::contiguous(slice.space, slice.owner, at[of.begin], at[of.end] - at[of.begin]);
    }
  }
  return plan;
}

}  // namespace weft::plan
