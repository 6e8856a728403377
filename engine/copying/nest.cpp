#include "engine/copying/nest.hpp"

#include <algorithm>
#include <limits>

#include "base/copy_bytes.hpp"
#include "engine/copying/grid.hpp"

namespace weft::engine {

namespace {

// Of elements of many nests, which are taken nest by nest: what stays in the nearest cache.
constexpr std::uint64_t kTileBytes = 8 << 10;

// A buffer may be MPI_BOTTOM, and strides may be negative: sums are those of numbers.
std::uintptr_t moved(std::uintptr_t address, std::ptrdiff_t by) noexcept {
  return address + static_cast<std::uintptr_t>(by);
}

std::ptrdiff_t times(std::uint64_t count, std::ptrdiff_t stride) noexcept {
  return static_cast<std::ptrdiff_t>(count) * stride;
}

/// Parts of a nest's packed bytes.
class Parts {
 public:
  explicit Parts(const Nest& nest) noexcept : nest_(nest) {
    block_[0] = nest.run_bytes;
    for (std::size_t i = 0; i < nest.loops.size(); ++i) {
      block_[i + 1] = block_[i] * loop(i).count;
    }
  }

  /// Calls use(place in memory, offset behind `from`, grid) for grids that are together the packed
  /// bytes `from` to `to`: as many loops as can be are whole in each. Grids take packed bytes from
  /// or to memory, which is their side `kMemory`.
  template <std::ptrdiff_t Axis::*kMemory, class Use>
  void for_each(std::uint64_t from, std::uint64_t to, const Use& use) const noexcept {
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t within = at % nest_.run_bytes;
      Grid grid;
      if (within != 0 || to - at < nest_.run_bytes) {
        grid.run_bytes = std::min(nest_.run_bytes - within, to - at);
        use(place_of(at), at - from, grid);
        at += grid.run_bytes;
        continue;
      }
      const std::uint64_t end = at + add_axes<kMemory>(at, to, grid);
      use(place_of(at), at - from, grid);
      at = end;
    }
  }

  /// Where a packed byte lies.
  std::ptrdiff_t place_of(std::uint64_t byte) const noexcept {
    std::ptrdiff_t place = nest_.at + static_cast<std::ptrdiff_t>(byte % nest_.run_bytes);
    std::uint64_t run = byte / nest_.run_bytes;
    for (std::size_t i = 0; i < nest_.loops.size() && run != 0; ++i) {
      place += times(run % loop(i).count, loop(i).stride);
      run /= loop(i).count;
    }
    return place;
  }

 private:
  /// Innermost first.
  const Loop& loop(std::size_t i) const noexcept { return nest_.loops[nest_.loops.size() - 1 - i]; }

  template <std::ptrdiff_t Axis::*kMemory>
  std::uint64_t add_axes(std::uint64_t at, std::uint64_t to, Grid& grid) const noexcept {
    const auto add = [&](std::uint64_t count, std::size_t i) {
      const auto packed = static_cast<std::ptrdiff_t>(block_[i]);
      Axis axis{count, packed, packed};
      axis.*kMemory = loop(i).stride;
      grid.add(axis);
    };
    grid.run_bytes = nest_.run_bytes;
    const std::size_t depth = nest_.loops.size();
    std::size_t whole = 0;
    while (whole < depth && at % block_[whole + 1] == 0 && to - at >= block_[whole + 1]) {
      add(loop(whole).count, whole);
      ++whole;
    }
    if (whole == depth) return block_[depth];
    const std::uint64_t done = at / block_[whole] % loop(whole).count;
    const std::uint64_t count = std::min((to - at) / block_[whole], loop(whole).count - done);
    add(count, whole);
    return count * block_[whole];
  }

  const Nest& nest_;
  std::array<std::uint64_t, Loops::kMost + 1> block_;  // packed bytes of the innermost loops
};

/// Elements of one nest are one loop more.
Nest folded(const Elements& elements) noexcept {
  Nest all = elements.nests.front();
  if (elements.count == 1) return all;
  all.loops.push_front({elements.count, elements.extent});
  simplify(all);
  return all;
}

/// Calls use(address, offset behind `from`, grid).
template <std::ptrdiff_t Axis::*kMemory, class Use>
void for_each_grid(const Elements& elements, std::uint64_t from, std::uint64_t to,
                   const Use& use) noexcept {
  if (from >= to) return;
  if (elements.nests.size() == 1) {
    const Nest all = folded(elements);
    return Parts(all).for_each<kMemory>(
        from, to, [&](std::ptrdiff_t place, std::uint64_t packed, const Grid& grid) {
          use(moved(elements.buffer, place), packed, grid);
        });
  }
  const std::uint64_t bytes = elements.element_bytes;
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t begin = at % bytes;
    const std::uintptr_t element = moved(elements.buffer, times(at / bytes, elements.extent));
    if (begin != 0 || to - at < bytes) {
      const std::uint64_t end = std::min(begin + (to - at), bytes);
      auto nest = std::ranges::upper_bound(elements.nests, begin, {}, &Nest::first) - 1;
      for (std::uint64_t next = begin; next < end; ++nest) {
        const std::uint64_t last = std::min(end, nest->first + nest->bytes());
        const std::uint64_t ahead = at - from + (next - begin);
        Parts(*nest).for_each<kMemory>(
            next - nest->first, last - nest->first,
            [&](std::ptrdiff_t place, std::uint64_t packed, const Grid& grid) {
              use(moved(element, place), ahead + packed, grid);
            });
        next = last;
      }
      at += end - begin;
      continue;
    }
    const std::uint64_t count =
        std::min((to - at) / bytes, std::max<std::uint64_t>(kTileBytes / bytes, 1));
    const auto packed = static_cast<std::ptrdiff_t>(bytes);
    Axis repeat{count, packed, packed};
    repeat.*kMemory = elements.extent;
    for (const Nest& nest : elements.nests) {
      Parts(nest).for_each<kMemory>(0, nest.bytes(),
                                    [&](std::ptrdiff_t place, std::uint64_t, Grid grid) {
                                      grid.add(repeat);
                                      use(moved(element, place), at - from + nest.first, grid);
                                    });
    }
    at += count * bytes;
  }
}

}  // namespace

std::uint64_t Nest::bytes() const noexcept {
  std::uint64_t all = run_bytes;
  for (const Loop& loop : loops) all *= loop.count;
  return all;
}

void simplify(Nest& nest) noexcept {
  for (std::size_t i = nest.loops.size(); i-- > 0;) {
    if (nest.loops[i].count == 1) nest.loops.erase(i);
  }
  while (!nest.loops.empty()) {
    const Loop inner = nest.loops.back();
    if (inner.stride != static_cast<std::ptrdiff_t>(nest.run_bytes)) break;
    nest.run_bytes *= inner.count;
    nest.loops.pop_back();
  }
  for (std::size_t i = nest.loops.size(); i-- > 1;) {
    Loop& outer = nest.loops[i - 1];
    const Loop inner = nest.loops[i];
    if (outer.stride != times(inner.count, inner.stride)) continue;
    outer = {outer.count * inner.count, inner.stride};
    nest.loops.erase(i);
  }
}

Range range_of(const Elements& elements) noexcept {
  std::ptrdiff_t low = std::numeric_limits<std::ptrdiff_t>::max();
  std::ptrdiff_t high = std::numeric_limits<std::ptrdiff_t>::min();
  for (const Nest& nest : elements.nests) {
    std::ptrdiff_t first = nest.at;
    std::ptrdiff_t last = nest.at;
    const auto add = [&](std::uint64_t count, std::ptrdiff_t stride) {
      (stride < 0 ? first : last) += times(count - 1, stride);
    };
    for (const Loop& loop : nest.loops) add(loop.count, loop.stride);
    add(elements.count, elements.extent);
    low = std::min(low, first);
    high = std::max(high, last + static_cast<std::ptrdiff_t>(nest.run_bytes));
  }
  return {moved(elements.buffer, low), moved(elements.buffer, high)};
}

void pack(const Elements& elements, std::uint64_t from, std::uint64_t to,
          std::byte* packed) noexcept {
  if (elements.is_one_run()) return copy_bytes(packed, elements.run() + from, to - from);
  for_each_grid<&Axis::from>(
      elements, from, to, [packed](std::uintptr_t memory, std::uint64_t at, const Grid& grid) {
        copy(packed + at, reinterpret_cast<const std::byte*>(memory), grid, false);
      });
}

void unpack(const Elements& elements, std::uint64_t from, std::uint64_t to,
            const std::byte* packed) noexcept {
  if (elements.is_one_run()) return copy_bytes(elements.run() + from, packed, to - from);
  for_each_grid<&Axis::to>(elements, from, to,
                           [packed](std::uintptr_t memory, std::uint64_t at, const Grid& grid) {
                             copy(reinterpret_cast<std::byte*>(memory), packed + at, grid, false);
                           });
}

std::size_t list_runs(const Elements& elements, std::uint64_t from, std::uint64_t to,
                      std::span<iovec> runs, std::uint64_t& covered) noexcept {
  std::size_t count = 0;
  covered = 0;
  const bool is_one = elements.nests.size() == 1;
  const Nest all = is_one ? folded(elements) : Nest{};
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t element = is_one ? 0 : at / elements.element_bytes;
    const std::uint64_t within = at - element * elements.element_bytes;
    const Nest& nest =
        is_one ? all : *(std::ranges::upper_bound(elements.nests, within, {}, &Nest::first) - 1);
    const std::uint64_t byte = within - (is_one ? 0 : nest.first);
    const std::uint64_t bytes = std::min(nest.run_bytes - byte % nest.run_bytes, to - at);
    auto* const memory = reinterpret_cast<std::byte*>(
        moved(elements.buffer, times(element, elements.extent) + Parts(nest).place_of(byte)));
    iovec* const last = count == 0 ? nullptr : &runs[count - 1];
    if (last != nullptr && static_cast<std::byte*>(last->iov_base) + last->iov_len == memory) {
      last->iov_len += bytes;
    } else if (count == runs.size()) {
      break;
    } else {
      runs[count++] = {memory, bytes};
    }
    at += bytes;
    covered += bytes;
  }
  return count;
}

}  // namespace weft::engine
