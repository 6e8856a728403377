#include "sim/memory.hpp"

#include <algorithm>

namespace weft::sim {

namespace {
__extension__ using Wide = unsigned __int128;
// Times of touches are rounded to this fraction of the cache, so that ranges of similar age join.
constexpr std::uint64_t kUnitsPerCache = 16;
// Blocks that share a cache line are cached and evicted together.
constexpr std::uint64_t kLineBytes = 64;

/// Calls `visit(begin, end)` for each block of the part, or once for all where they share lines.
template <class Visit>
void each_range(const Memory::Part& part, Visit visit) {
  const Side& side = part.side;
  const std::uint64_t block = part.bytes / std::max(side.blocks, 1U);
  const std::uint64_t stride = side.blocks > 1 ? (side.extent - block) / (side.blocks - 1) : 0;
  if (stride <= kLineBytes) {
    const auto place = [&](std::uint64_t byte) {
      return part.bytes == 0
                 ? 0
                 : static_cast<std::uint64_t>(static_cast<Wide>(byte) * side.extent / part.bytes);
    };
    return visit(side.offset + place(part.from), side.offset + place(part.from + part.length));
  }
  std::uint64_t at = part.from;
  const std::uint64_t stop = part.from + part.length;
  while (at < stop) {
    const std::uint64_t begin = side.offset + at / block * stride + at % block;
    const std::uint64_t length = std::min(stop - at, block - at % block);
    visit(begin, begin + length);
    at += length;
  }
}
}  // namespace

Memory::Memory(Program& program, const Members& members, const Adapter& adapter,
               std::uint64_t cache_bytes)
    : program_(program),
      members_(members),
      cache_bytes_(cache_bytes),
      unit_bytes_(std::max<std::uint64_t>(1, cache_bytes / kUnitsPerCache)),
      regions_(4 * static_cast<std::size_t>(members.size())),
      caches_(static_cast<std::size_t>(members.nodes())) {
  std::vector<std::uint64_t> footprints(caches_.size());
  for (int member = 0; member < members.size(); ++member) {
    footprints[members.node_of(member)] +=
        program.footprint(member) * static_cast<std::uint64_t>(members.weight_of(member));
  }
  for (std::size_t node = 0; node < caches_.size(); ++node) {
    caches_[node].holds_all = footprints[node] <= cache_bytes;
  }
  // State after the previous call.
  for (Index op = 0; op < program.op_count(); ++op) {
    const Op& send = program.ops()[op];
    if (send.kind != plan::OpKind::send || !send.remote) continue;
    if (send.bytes > adapter.pio_bytes) moved_by_adapter(program.side(send, 0), send.bytes);
  }
}

Memory::Cache& Memory::cache_of(const Side& side) {
  return caches_[members_.node_of(owner_of(side))];
}

std::uint32_t Memory::now(const Cache& cache) const {
  if (cache.holds_all) return kUntouched;  // the same as touched: only fresh ranges matter
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(1 + cache.touched / unit_bytes_, kFresh - 1));
}

/// Adds the bytes from `begin` to `end` to `found`.
void Memory::add(Residency& found, const Cache& cache, std::uint32_t region, std::uint64_t begin,
                 std::uint64_t end) const {
  const auto& ranges = regions_[region];
  const std::uint32_t today = now(cache);
  std::uint64_t& elsewhere = cache.holds_all ? found.cached : found.memory;
  auto range = std::ranges::upper_bound(ranges, begin, {}, &Range::begin);
  while (begin < end) {
    const std::uint64_t stop = range == ranges.end() ? end : std::min(end, range->begin);
    const std::uint32_t value = range == ranges.begin() ? kUntouched : std::prev(range)->last_touch;
    const bool cached = value != kUntouched && value != kFresh &&
                        (cache.holds_all || today - value < kUnitsPerCache);
    (value == kFresh ? found.fresh : cached ? found.cached : elsewhere) += stop - begin;
    begin = stop;
    if (range != ranges.end()) ++range;
  }
}

Residency Memory::read(const Part& part, int cores) {
  Cache& cache = cache_of(part.side);
  if (cache.holds_all && regions_[part.side.region].empty()) return {part.length, 0, 0};
  Residency found;
  each_range(part, [&](std::uint64_t begin, std::uint64_t end) {
    add(found, cache, part.side.region, begin, end);
  });
  const std::uint64_t seen = found.cached + found.memory + found.fresh;
  if (seen != part.length) {  // gaps included: assumed to be like the blocks
    const auto scaled = [&](std::uint64_t bytes) {
      return static_cast<std::uint64_t>(static_cast<Wide>(bytes) * part.length / seen);
    };
    found.memory = scaled(found.memory);
    found.fresh = scaled(found.fresh);
    found.cached = part.length - found.memory - found.fresh;
  }
  cache.touched += part.length * static_cast<std::uint64_t>(cores);
  if (found.cached != part.length || !cache.holds_all) assign(part, now(cache));
  return found;
}

std::uint64_t Memory::written_by_core(const Side& side, std::uint64_t bytes, int cores) {
  Cache& cache = cache_of(side);
  const std::uint64_t touched = cache.touched + bytes * static_cast<std::uint64_t>(cores);
  Residency found;
  if (program_.is_tracked(side.region)) found = read(side, bytes, cores);
  cache.touched = touched;
  return found.fresh;
}

void Memory::moved_by_adapter(const Side& side, std::uint64_t bytes) {
  if (program_.is_tracked(side.region)) assign({side, bytes, 0, bytes}, kFresh);
}

void Memory::assign(const Part& part, std::uint32_t value) {
  constexpr std::uint32_t kFewBlocks = 4;  // each moves all ranges behind it
  if (part.side.blocks > kFewBlocks) return assign_blocks(part, value);
  each_range(part, [&](std::uint64_t begin, std::uint64_t end) {
    assign(part.side.region, begin, end, value);
  });
}

/// The same of many blocks, in one pass over the ranges.
void Memory::assign_blocks(const Part& part, std::uint32_t value) {
  auto& ranges = regions_[part.side.region];
  std::vector<Range> merged;
  merged.reserve(ranges.size() + std::size_t{2} * part.side.blocks);
  const auto add = [&merged](std::uint64_t begin, std::uint32_t touch) {
    if (!merged.empty() && merged.back().begin == begin) merged.pop_back();
    if (touch != (merged.empty() ? kUntouched : merged.back().last_touch)) {
      merged.push_back({begin, touch});
    }
  };
  auto next = ranges.begin();
  std::uint32_t behind = kUntouched;  // what was there before, up to `next`
  each_range(part, [&](std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    for (; next != ranges.end() && next->begin < begin; ++next) {
      behind = next->last_touch;
      add(next->begin, behind);
    }
    add(begin, value);
    for (; next != ranges.end() && next->begin <= end; ++next) behind = next->last_touch;
    add(end, behind);
  });
  for (; next != ranges.end(); ++next) add(next->begin, next->last_touch);
  ranges = std::move(merged);
}

void Memory::assign(std::uint32_t region, std::uint64_t begin, std::uint64_t end,
                    std::uint32_t value) {
  auto& ranges = regions_[region];
  if (begin == end || (ranges.empty() && value == kUntouched)) return;
  auto first = std::ranges::lower_bound(ranges, begin, {}, &Range::begin);
  auto last = std::ranges::upper_bound(first, ranges.end(), end, {}, &Range::begin);
  const std::uint32_t before = first == ranges.begin() ? kUntouched : std::prev(first)->last_touch;
  const std::uint32_t behind = last == ranges.begin() ? kUntouched : std::prev(last)->last_touch;
  Range edges[2];
  std::size_t count = 0;
  if (value != before) edges[count++] = {begin, value};
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
