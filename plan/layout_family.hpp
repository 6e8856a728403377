// Layout family: plans of one shape, one for every list of block sizes that all ranks know.
//
// For blocks that lie side by side, in the order of the ranks. Algorithms move whole blocks and
// pack them side by side, so the distance between two neighbouring positions of a memory (where
// some slice begins or ends) is the size of a *run*: of the blocks of ranks that follow one
// another, around the end. The runs are found by emitting plans for two samples, in which no two
// runs are equally long, so no algorithm knows of it. As in a Family nothing is rounded up to cache
// lines.
//
// Why a family is right for every list where it is for a sample: positions of a memory are in the
// same order whatever the sizes are, as between neighbours there are blocks and nothing else. So
// slices that share no byte of a sample share none in any list. Slices that are equally long in a
// sample have the same blocks, so they are in any list: both ends of a copy, and of a message.
// Nothing else of a plan depends on sizes. Where blocks are empty, positions fall together and ops
// are without bytes: they do nothing, and where that is a send its recv is none either.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::plan {

/// Blocks of more ranks have none.
inline constexpr int kMostLaidOut = 512;
/// Blocks of samples have about so many bytes.
inline constexpr std::uint64_t kSampleBlock = 3ull << 41;

/// Whether the blocks that have bytes lie side by side in the order of the ranks.
bool is_side_by_side(std::span<const Block> layout) noexcept;
/// One of the two sample layouts, 0 or 1. All sizes and places are multiples of what plans round up
/// to.
std::vector<Block> sample_layout(int ranks, int which);

class LayoutFamily {
 public:
  /// From the plans of the two samples, with their problems; nullopt where they differ in more than
  /// numbers, or where blocks are cut, lie in strides, or are joined to others than runs.
  static std::optional<LayoutFamily> of(const Problem& first_problem, const Plan& first,
                                        const Problem& second_problem, const Plan& second);

  /// Where a slice begins and ends: indices into what locate() finds.
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  const Piece& piece(OpId op, bool is_source) const { return pieces_[2 * op + is_source]; }
  /// The end of what the plan needs of a space.
  std::uint32_t stage_end() const noexcept { return stage_end_; }
  std::uint32_t scratch_end() const noexcept { return scratch_end_; }
  /// The end of all blocks side by side.
  std::size_t end_of_all() const noexcept { return ranks(); }

  std::size_t positions() const noexcept { return first_position() + positions_.size(); }
  /// The positions for a list of sizes, positions() of them. Returns whether some block is empty.
  bool locate(std::span<const Block> layout, std::span<std::uint64_t> at) const noexcept;

  /// The problem's layout lies side by side.
  Plan at(const Problem& problem) const;
  /// Ops and peers, with the numbers of some member.
  const Plan& shape() const { return shape_; }

 private:
  /// A run further on than another position.
  struct Position {
    std::uint32_t before = 0;
    std::uint32_t first = 0;  // block of the run
    std::uint32_t end = 0;    // behind its last: beyond the number of ranks where it goes around

    auto operator<=>(const Position&) const = default;
  };
  class Finder;

  explicit LayoutFamily(Plan shape) : shape_(std::move(shape)) {}
  std::size_t ranks() const noexcept { return static_cast<std::size_t>(shape_.ranks()); }
  /// Before it are sums of sizes: of no block, where each memory begins, the first, the first two
  /// and so on, up to twice around all ranks.
  std::size_t first_position() const noexcept { return 2 * ranks() + 1; }

  Plan shape_;
  std::vector<Position> positions_;  // that are no sums, each behind that before it
  std::size_t turns_ = 1;            // around all ranks, of the sums; 2: some run goes around
  std::vector<Piece> pieces_;        // of each op: dst, then src
  std::uint32_t stage_end_ = 0;
  std::uint32_t scratch_end_ = 0;
};

}  // namespace weft::plan
