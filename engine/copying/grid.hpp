// Grids: copies of runs of bytes that lie at regular distances on both sides, in an order that
// suits both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/copying/nest.hpp"

namespace weft::engine {

/// `count` runs at these distances in bytes, on the side that is written and on the one that is
/// read.
struct Axis {
  std::uint64_t count = 1;
  std::ptrdiff_t to = 0;
  std::ptrdiff_t from = 0;
};

/// Runs of one length at all sums of steps along the axes.
struct Grid {
  static constexpr std::size_t kMostAxes = 2 * (Loops::kMost + 1);
  std::uint64_t run_bytes = 0;
  std::size_t axes = 0;
  std::array<Axis, kMostAxes> axis = {};  // the first one innermost

  /// Joins the axis with the one before it where they are one.
  void add(const Axis& next) noexcept;
};

/// The grid that takes the packed bytes of one nest to those of another one of as many bytes.
/// nullopt: there is none, as the lengths of their runs and loops do not divide each other.
std::optional<Grid> grid_of(const Nest& to, const Nest& from) noexcept;

/// Copies the runs of a grid whose first run is at `to` and `from`, without overlap. Runs shorter
/// than a line of memory that lie side by side in one direction on the one side, and in another one
/// on the other (a transpose), go in tiles of whole lines. `past_caches`: as for copy().
void copy(std::byte* to, const std::byte* from, const Grid& grid, bool past_caches) noexcept;

}  // namespace weft::engine
