#include "sim/memory.hpp"

#include <algorithm>

namespace weft::sim {

namespace {
__extension__ using Wide = unsigned __int128;
// Touches are dated by so many parts of the cache: ranges of about the same age join.
constexpr std::uint64_t kUnitsPerCache = 16;
}  // namespace

Memory::Memory(const Program& program, const hierarchy::Machine& machine, std::uint64_t cache_bytes)
    : program_(program),
      machine_(machine),
      cache_bytes_(cache_bytes),
      unit_bytes_(std::max<std::uint64_t>(1, cache_bytes / kUnitsPerCache)),
      regions_(4 * static_cast<std::size_t>(machine.ranks())),
      caches_(static_cast<std::size_t>(machine.nodes())) {
  std::vector<std::uint64_t> footprints(caches_.size());
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    footprints[machine.node_of(rank)] += program.footprint(rank);
  }
  for (std::size_t node = 0; node < caches_.size(); ++node) {
    caches_[node].holds_all = footprints[node] <= cache_bytes;
  }
}

Memory::Cache& Memory::cache_of(const Side& side) {
  return caches_[machine_.node_of(static_cast<int>(side.region / 4))];
}

std::uint32_t Memory::now(const Cache& cache) const {
  if (cache.holds_all) return kUntouched;  // the same as touched: only what is fresh is kept
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(1 + cache.touched / unit_bytes_, kFresh - 1));
}

Whereabouts Memory::read(const Side& side, std::uint64_t bytes) {
  Cache& cache = cache_of(side);
  const std::uint32_t today = now(cache);
  const auto& ranges = regions_[side.region];
  if (cache.holds_all && ranges.empty()) return {bytes, 0, 0};
  Whereabouts found;
  std::uint64_t& elsewhere = cache.holds_all ? found.cached : found.memory;
  const std::uint64_t end = side.offset + side.extent;
  std::uint64_t at = side.offset;
  auto range = std::ranges::upper_bound(ranges, at, {}, &Range::begin);
  while (at < end) {
    const std::uint64_t stop = range == ranges.end() ? end : std::min(end, range->begin);
    const std::uint32_t value = range == ranges.begin() ? kUntouched : std::prev(range)->last_touch;
    const bool cached = value != kUntouched && value != kFresh &&
                        (cache.holds_all || today - value < kUnitsPerCache);
    (value == kFresh ? found.fresh : cached ? found.cached : elsewhere) += stop - at;
    at = stop;
    if (range != ranges.end()) ++range;
  }
  if (side.extent != bytes) {  // the gaps between its blocks are like the blocks
    const auto scaled = [&](std::uint64_t part) {
      return static_cast<std::uint64_t>(static_cast<Wide>(part) * bytes / side.extent);
    };
    found.memory = scaled(found.memory);
    found.fresh = scaled(found.fresh);
    found.cached = bytes - found.memory - found.fresh;
  }
  cache.touched += bytes;
  if (found.cached != bytes || !cache.holds_all) assign(side, today);
  return found;
}

void Memory::written_by_core(const Side& side, std::uint64_t bytes) {
  Cache& cache = cache_of(side);
  cache.touched += bytes;
  if (program_.is_read(side.region)) assign(side, now(cache));
}

void Memory::written_by_adapter(const Side& side) {
  if (program_.is_read(side.region)) assign(side, kFresh);
}

void Memory::assign(const Side& side, std::uint32_t value) {
  auto& ranges = regions_[side.region];
  if (side.extent == 0 || (ranges.empty() && value == kUntouched)) return;
  const std::uint64_t end = side.offset + side.extent;
  auto first = std::ranges::lower_bound(ranges, side.offset, {}, &Range::begin);
  auto last = std::ranges::upper_bound(first, ranges.end(), end, {}, &Range::begin);
  const std::uint32_t before = first == ranges.begin() ? kUntouched : std::prev(first)->last_touch;
  const std::uint32_t behind = last == ranges.begin() ? kUntouched : std::prev(last)->last_touch;
  Range edges[2];
  std::size_t count = 0;
  if (value != before) edges[count++] = {side.offset, value};
  if (value != behind) edges[count++] = {end, behind};
  const auto room = static_cast<std::size_t>(last - first);
  const std::size_t common = std::min(room, count);
  first = std::copy_n(edges, common, first);
  if (room > common) {
    ranges.erase(first, last);
  } else {
    ranges.insert(first, edges + common, edges + count);
  }
}

}  // namespace weft::sim
