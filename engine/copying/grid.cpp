#include "engine/copying/grid.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "engine/copying/copy.hpp"
#include "engine/copying/tiles.hpp"

namespace weft::engine {

namespace {

constexpr std::uint64_t kLineBytes = 64;

/// The lengths and distances of a nest from its bytes outwards.
class Steps {
 public:
  explicit Steps(const Nest& nest)
      : nest_(nest), now_{nest.run_bytes, 1}, next_(nest.loops.size()) {}

  const Loop& now() const noexcept { return now_; }
  bool is_over() const noexcept { return now_.count == 1 && next_ == 0; }
  /// Goes on with every `count`-th of these.
  void take(std::uint64_t count) noexcept {
    now_ = {now_.count / count, now_.stride * static_cast<std::ptrdiff_t>(count)};
    while (now_.count == 1 && next_ > 0) now_ = nest_.loops[--next_];
  }

 private:
  const Nest& nest_;
  Loop now_;
  std::size_t next_;
};

std::size_t nearest(const Grid& grid, std::ptrdiff_t Axis::*side) noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < grid.axes; ++i) {
    if (std::abs(grid.axis[i].*side) < std::abs(grid.axis[best].*side)) best = i;
  }
  return best;
}

/// The runs of one axis.
void copy_row(std::byte* to, const std::byte* from, std::uint64_t run, const Axis& axis,
              bool past_caches) noexcept {
  if (axis.to >= 0 && axis.from >= 0) {
    return copy(
        {to, run, axis.count, static_cast<std::uint64_t>(axis.to), 0},
        {const_cast<std::byte*>(from), run, axis.count, static_cast<std::uint64_t>(axis.from), 0},
        past_caches);
  }
  for (std::uint64_t i = 0; i < axis.count; ++i) {
    std::memcpy(to + static_cast<std::ptrdiff_t>(i) * axis.to,
                from + static_cast<std::ptrdiff_t>(i) * axis.from, run);
  }
}

/// Calls body(to, from) for all sums of the axes that are left, the first one innermost.
template <class Body>
void for_each_place(std::byte* to, const std::byte* from, std::span<const Axis> axes,
                    const Body& body) noexcept {
  if (axes.empty()) return body(to, from);
  const Axis& outermost = axes.back();
  for (std::uint64_t i = 0; i < outermost.count; ++i) {
    for_each_place(to + static_cast<std::ptrdiff_t>(i) * outermost.to,
                   from + static_cast<std::ptrdiff_t>(i) * outermost.from,
                   axes.first(axes.size() - 1), body);
  }
}

}  // namespace

void Grid::add(const Axis& next) noexcept {
  if (next.count == 1) return;
  const auto length = [](std::uint64_t count, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(count) * stride;
  };
  if (axes == 0) {
    if (next.to == length(run_bytes, 1) && next.from == length(run_bytes, 1)) {
      run_bytes *= next.count;
      return;
    }
  } else {
    Axis& last = axis[axes - 1];
    if (next.to == length(last.count, last.to) && next.from == length(last.count, last.from)) {
      last.count *= next.count;
      return;
    }
  }
  axis[axes++] = next;
}

std::optional<Grid> grid_of(const Nest& to, const Nest& from) noexcept {
  Steps there(to);
  Steps here(from);
  Grid grid;
  grid.run_bytes = std::gcd(to.run_bytes, from.run_bytes);
  there.take(grid.run_bytes);
  here.take(grid.run_bytes);
  while (!there.is_over() && !here.is_over()) {
    const std::uint64_t count = std::gcd(there.now().count, here.now().count);
    if (count == 1 || grid.axes == Grid::kMostAxes) return std::nullopt;
    grid.add({count, there.now().stride, here.now().stride});
    there.take(count);
    here.take(count);
  }
  return there.is_over() && here.is_over() ? std::optional(grid) : std::nullopt;
}

void copy(std::byte* to, const std::byte* from, const Grid& grid, bool past_caches) noexcept {
  if (grid.axes == 0) {
    return copy_row(to, from, grid.run_bytes, {.count = 1, .to = 0, .from = 0}, past_caches);
  }
  // The axes along which a side's runs lie nearest to one another go innermost, the others so that
  // what is written moves on as little as can be.
  const std::size_t along_to = nearest(grid, &Axis::to);
  const std::size_t along_from = nearest(grid, &Axis::from);
  const Axis writes = grid.axis[along_to];
  const Axis reads = grid.axis[along_from];
  const bool crosses = along_to != along_from && grid.run_bytes < kLineBytes;
  std::array<Axis, Grid::kMostAxes> rest;
  std::size_t others = 0;
  for (std::size_t i = 0; i < grid.axes; ++i) {
    if (i != along_to && (!crosses || i != along_from)) rest[others++] = grid.axis[i];
  }
  std::sort(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(others),
            [](const Axis& a, const Axis& b) { return std::abs(a.to) < std::abs(b.to); });
  for_each_place(to, from, std::span(rest).first(others),
                 [&](std::byte* there, const std::byte* here) {
                   if (crosses) {
                     copy_tiles(there, here, grid.run_bytes, writes, reads, past_caches);
                   } else {
                     copy_row(there, here, grid.run_bytes, writes, past_caches);
                   }
                 });
}

}  // namespace weft::engine
