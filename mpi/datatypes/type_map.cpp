#include "mpi/datatypes/type_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/cast.hpp"
#include "engine/copying/copy.hpp"

namespace weft::mpi {

using Loop = TypeMap::Loop;
using Nest = TypeMap::Nest;

namespace {

/// Joins loops that are one, so that runs are as long, and loops as few, as can be.
void simplify(Nest& nest) {
  std::erase_if(nest.loops, [](const Loop& loop) { return loop.count == 1; });
  while (!nest.loops.empty()) {
    const Loop inner = nest.loops.back();
    if (inner.stride != static_cast<std::ptrdiff_t>(nest.run_bytes)) break;
    nest.run_bytes *= inner.count;
    nest.loops.pop_back();
  }
  for (std::size_t i = nest.loops.size(); i-- > 1;) {
    Loop& outer = nest.loops[i - 1];
    const Loop inner = nest.loops[i];
    if (outer.stride != static_cast<std::ptrdiff_t>(inner.count) * inner.stride) continue;
    outer = {outer.count * inner.count, inner.stride};
    nest.loops.erase(nest.loops.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Runs at equal distances, in memory and among the packed bytes.
struct Runs {
  std::ptrdiff_t at = 0;  // in memory
  std::ptrdiff_t stride = 0;
  std::uint64_t packed = 0;
  std::uint64_t packed_stride = 0;
  std::uint64_t bytes = 0;  // of a run
  std::uint64_t count = 1;
};

// Where the runs of one row lie further apart than rows do (columns of a matrix), runs of several
// rows share lines of memory: a tile of so many runs of each row is copied after the other. Not
// where a run has a line of its own.
constexpr std::uint64_t kTileRuns = 64;
constexpr std::uint64_t kTileRows = 16;
constexpr std::uint64_t kLine = 64;
// Of packed elements that are taken nest by nest.
constexpr std::uint64_t kTileBytes = 8 << 10;

/// Copies parts of a nest: its *rows*, which are the runs of the innermost loop, in the order of
/// their packed bytes.
template <class Copy>
class NestCopy {
 public:
  NestCopy(const Nest& nest, const Copy& copy) : nest_(nest), copy_(copy) {
    if (nest.loops.empty()) return;
    inner_ = nest.loops.back();
    if (nest.loops.size() > 1) outer_ = nest.loops[nest.loops.size() - 2];
    tiled_ = nest.run_bytes < kLine && std::abs(outer_.stride) < std::abs(inner_.stride);
  }

  /// The packed bytes `from` to `to` of the nest, of which the first is `packed`.
  void copy(std::uint64_t from, std::uint64_t to, std::uint64_t packed) const {
    const std::uint64_t row_bytes = nest_.run_bytes * inner_.count;
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t row = at / row_bytes;
      const std::uint64_t within = at % row_bytes;
      const std::uint64_t here = packed + (at - from);
      if (within != 0 || to - at < row_bytes) {
        const std::uint64_t end = std::min(to - at + within, row_bytes);
        copy_in_row(place_of(row), within, end, here);
        at += end - within;
        continue;
      }
      // All whole rows of one turn of the next loop.
      const std::uint64_t rows = std::min((to - at) / row_bytes, outer_.count - row % outer_.count);
      copy_rows(place_of(row), rows, here);
      at += rows * row_bytes;
    }
  }

 private:
  /// Of the row's first byte.
  std::ptrdiff_t place_of(std::uint64_t row) const {
    std::ptrdiff_t place = nest_.at;
    for (std::size_t i = nest_.loops.empty() ? 0 : nest_.loops.size() - 1; i-- > 0;) {
      const Loop& loop = nest_.loops[i];
      place += static_cast<std::ptrdiff_t>(row % loop.count) * loop.stride;
      row /= loop.count;
    }
    return place;
  }

  void copy_rows(std::ptrdiff_t place, std::uint64_t rows, std::uint64_t packed) const {
    const std::uint64_t tile_rows = tiled_ ? kTileRows : 1;
    const std::uint64_t tile_runs = tiled_ ? kTileRuns : inner_.count;
    for (std::uint64_t row = 0; row < rows; row += tile_rows) {
      const std::uint64_t last = std::min(row + tile_rows, rows);
      for (std::uint64_t run = 0; run < inner_.count; run += tile_runs) {
        const std::uint64_t runs = std::min(tile_runs, inner_.count - run);
        for (std::uint64_t one = row; one < last; ++one) {
          copy_({.at = place + static_cast<std::ptrdiff_t>(one) * outer_.stride +
                       static_cast<std::ptrdiff_t>(run) * inner_.stride,
                 .stride = inner_.stride,
                 .packed = packed + (one * inner_.count + run) * nest_.run_bytes,
                 .packed_stride = nest_.run_bytes,
                 .bytes = nest_.run_bytes,
                 .count = runs});
        }
      }
    }
  }

  /// Bytes `from` to `to` of a row.
  void copy_in_row(std::ptrdiff_t place, std::uint64_t from, std::uint64_t to,
                   std::uint64_t packed) const {
    for (std::uint64_t at = from; at < to;) {
      const std::uint64_t run = at / nest_.run_bytes;
      const std::uint64_t within = at % nest_.run_bytes;
      const std::uint64_t whole = within == 0 ? (to - at) / nest_.run_bytes : 0;
      const std::uint64_t bytes =
          whole != 0 ? nest_.run_bytes : std::min(nest_.run_bytes - within, to - at);
      const std::uint64_t count = std::max<std::uint64_t>(whole, 1);
      copy_({.at = place + static_cast<std::ptrdiff_t>(run) * inner_.stride +
                   static_cast<std::ptrdiff_t>(within),
             .stride = inner_.stride,
             .packed = packed + (at - from),
             .packed_stride = bytes,
             .bytes = bytes,
             .count = count});
      at += bytes * count;
    }
  }

  const Nest& nest_;
  const Copy& copy_;
  Loop inner_ = {1, 0};
  Loop outer_ = {1, 0};
  bool tiled_ = false;
};

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

struct Range {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
};

Range range_of(MPI_Datatype type) {
  Range range;
  PMPI_Type_get_extent(type, &range.low, &range.extent);
  return range;
}

/// How many arguments a datatype was made with.
struct Envelope {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  bool is_known = false;  // and all numbers are int
};

Envelope envelope_of(MPI_Datatype type) {
  Envelope envelope;
#if MPI_VERSION >= 4
  // The other function is an error for types that were made with large counts.
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  envelope.is_known = PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types,
                                               &envelope.combiner) == MPI_SUCCESS &&
                      large == 0;
  envelope.integers = static_cast<int>(integers);
  envelope.addresses = static_cast<int>(addresses);
  envelope.types = static_cast<int>(types);
#else
  envelope.is_known = PMPI_Type_get_envelope(type, &envelope.integers, &envelope.addresses,
                                             &envelope.types, &envelope.combiner) == MPI_SUCCESS;
#endif
  return envelope;
}

/// The arguments with which a datatype was made.
class Contents {
 public:
  explicit Contents(MPI_Datatype type) {
    const Envelope made = envelope_of(type);
    combiner_ = made.combiner;
    is_known_ = made.is_known;
    if (!is_known_ || is_predefined(combiner_)) return;
    integers_.resize(static_cast<std::size_t>(made.integers) + 1);
    addresses_.resize(static_cast<std::size_t>(made.addresses) + 1);
    types_.resize(static_cast<std::size_t>(made.types), MPI_DATATYPE_NULL);
    is_known_ =
        !types_.empty() &&
        PMPI_Type_get_contents(type, made.integers, made.addresses, made.types, integers_.data(),
                               addresses_.data(), types_.data()) == MPI_SUCCESS;
    if (!is_known_) types_.clear();
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& type : types_) {
      if (!is_predefined(envelope_of(type).combiner)) PMPI_Type_free(&type);
    }
  }

  bool is_known() const { return is_known_; }
  int combiner() const { return combiner_; }
  std::int64_t integer(std::size_t i) const { return integers_[i]; }
  std::uint64_t count(std::size_t i) const { return static_cast<std::uint64_t>(integers_[i]); }
  MPI_Aint address(std::size_t i) const { return addresses_[i]; }
  MPI_Datatype type(std::size_t i = 0) const { return types_[i]; }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  bool is_known_ = false;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

using Made = std::optional<TypeMap>;

Made predefined(MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  const Range range = range_of(type);
  // A pair with a gap (MPI_SHORT_INT): where it is, nobody says.
  if (size <= 0 || range.low != 0 || range.extent != size) return std::nullopt;
  return TypeMap::run(static_cast<std::uint64_t>(size));
}

/// `count` blocks of `length` elements each, `stride` bytes apart.
Made blocks(std::uint64_t count, std::uint64_t length, MPI_Aint stride, MPI_Datatype inner) {
  Made map = TypeMap::of(inner);
  if (!map || !map->repeat(length, range_of(inner).extent) || !map->repeat(count, stride)) {
    return std::nullopt;
  }
  return map;
}

/// A block of length(i) elements at each at(i), in bytes.
template <class Length, class At>
Made scattered(std::uint64_t count, MPI_Datatype inner, Length length, At at) {
  const Made element = TypeMap::of(inner);
  if (!element) return std::nullopt;
  const MPI_Aint extent = range_of(inner).extent;
  TypeMap map;
  for (std::uint64_t i = 0; i < count; ++i) {
    TypeMap block = *element;
    if (!block.repeat(length(i), extent) || !map.append(block, at(i))) return std::nullopt;
  }
  return map;
}

Made structure(const Contents& contents) {
  const std::uint64_t count = contents.count(0);
  TypeMap map;
  for (std::size_t i = 0; i < count; ++i) {
    if (contents.count(1 + i) == 0) continue;
    Made block = TypeMap::of(contents.type(i));
    if (!block || !block->repeat(contents.count(1 + i), range_of(contents.type(i)).extent) ||
        !map.append(*block, contents.address(i))) {
      return std::nullopt;
    }
  }
  return map;
}

/// MPI 4.0, section 5.1.3: sizes, subsizes and starts by dimension, then the order.
Made subarray(const Contents& contents) {
  const auto dimensions = static_cast<std::size_t>(contents.integer(0));
  const auto size = [&](std::size_t i) { return contents.integer(1 + i); };
  const auto part = [&](std::size_t i) { return contents.count(1 + dimensions + i); };
  const auto start = [&](std::size_t i) { return contents.integer(1 + 2 * dimensions + i); };
  const bool is_c = contents.integer(1 + 3 * dimensions) == MPI_ORDER_C;
  Made map = TypeMap::of(contents.type());
  if (!map) return map;
  MPI_Aint stride = range_of(contents.type()).extent;
  MPI_Aint first = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t one = is_c ? dimensions - 1 - i : i;  // the fastest first
    if (!map->repeat(part(one), stride)) return std::nullopt;
    first += start(one) * stride;
    stride *= size(one);
  }
  TypeMap placed;
  if (!placed.append(*map, first)) return std::nullopt;
  return placed;
}

Made derived(const Contents& contents) {
  const MPI_Datatype inner = contents.type();
  const auto extent = [&] { return range_of(inner).extent; };
  const std::uint64_t count = contents.count(0);
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return TypeMap::of(inner);
    case MPI_COMBINER_CONTIGUOUS:
      return blocks(1, count, 0, inner);
    case MPI_COMBINER_VECTOR:
      return blocks(count, contents.count(1), contents.integer(2) * extent(), inner);
    case MPI_COMBINER_HVECTOR:
      return blocks(count, contents.count(1), contents.address(0), inner);
    case MPI_COMBINER_INDEXED:
      return scattered(
          count, inner, [&](std::size_t i) { return contents.count(1 + i); },
          [&](std::size_t i) { return contents.integer(1 + count + i) * extent(); });
    case MPI_COMBINER_HINDEXED:
      return scattered(
          count, inner, [&](std::size_t i) { return contents.count(1 + i); },
          [&](std::size_t i) { return contents.address(i); });
    case MPI_COMBINER_INDEXED_BLOCK:
      return scattered(
          count, inner, [&](std::size_t) { return contents.count(1); },
          [&](std::size_t i) { return contents.integer(2 + i) * extent(); });
    case MPI_COMBINER_HINDEXED_BLOCK:
      return scattered(
          count, inner, [&](std::size_t) { return contents.count(1); },
          [&](std::size_t i) { return contents.address(i); });
    case MPI_COMBINER_STRUCT:
      return structure(contents);
    case MPI_COMBINER_SUBARRAY:
      return subarray(contents);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint64_t Nest::bytes() const noexcept {
  std::uint64_t all = run_bytes;
  for (const Loop& loop : loops) all *= loop.count;
  return all;
}

Made TypeMap::of(MPI_Datatype type) {
  const Contents contents(type);
  if (!contents.is_known()) return std::nullopt;
  return is_predefined(contents.combiner()) ? predefined(type) : derived(contents);
}

TypeMap TypeMap::run(std::uint64_t bytes) {
  TypeMap map;
  map.add({.at = 0, .run_bytes = bytes});
  return map;
}

void TypeMap::add(Nest nest) {
  const std::uint64_t bytes = nest.bytes();
  if (bytes == 0) return;
  nest.first = bytes_;
  bytes_ += bytes;
  if (!nests_.empty() && nest.loops.empty() && nests_.back().loops.empty() &&
      nests_.back().at + static_cast<std::ptrdiff_t>(nests_.back().run_bytes) == nest.at) {
    nests_.back().run_bytes += nest.run_bytes;
  } else {
    nests_.push_back(std::move(nest));
  }
}

bool TypeMap::repeat(std::uint64_t count, std::ptrdiff_t stride) {
  if (count == 1) return true;
  if (count == 0) nests_.clear();
  if (nests_.size() <= 1) {
    bytes_ *= count;
    for (Nest& nest : nests_) {
      nest.loops.insert(nest.loops.begin(), {count, stride});
      simplify(nest);
      if (nest.loops.size() > kMostLoops) return false;
    }
    return true;
  }
  if (nests_.size() > kMostNests / count) return false;
  const TypeMap one = *this;
  for (std::uint64_t i = 1; i < count; ++i) {
    if (!append(one, static_cast<std::ptrdiff_t>(i) * stride)) return false;
  }
  return true;
}

bool TypeMap::append(const TypeMap& other, std::ptrdiff_t at) {
  for (Nest nest : other.nests_) {
    nest.at += at;
    add(std::move(nest));
    if (nests_.size() > kMostNests) return false;
  }
  return true;
}

/// Calls copy(Runs) for all of them.
template <class Copy>
void TypeMap::for_each_part(std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
                            const Copy& copy) const {
  if (from == to) return;
  if (nests_.size() == 1) {
    // Elements are one loop more.
    Nest all = nests_.front();
    all.loops.insert(all.loops.begin(), {ceil_div(to, bytes_), extent});
    simplify(all);
    return NestCopy(all, copy).copy(from, to, 0);
  }
  const auto copy_part = [&](std::uint64_t element, std::uint64_t begin, std::uint64_t end) {
    const auto moved = [&](Runs runs) {
      runs.at += static_cast<std::ptrdiff_t>(element) * extent;
      copy(runs);
    };
    auto nest = std::ranges::upper_bound(nests_, begin, {}, &Nest::first) - 1;
    for (std::uint64_t at = begin; at < end; ++nest) {
      const std::uint64_t last = std::min(end, nest->first + nest->bytes());
      NestCopy(*nest, moved)
          .copy(at - nest->first, last - nest->first, element * bytes_ + at - from);
      at = last;
    }
  };
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t element = at / bytes_;
    const std::uint64_t begin = at % bytes_;
    if (begin != 0 || to - at < bytes_) {
      const std::uint64_t end = std::min(begin + (to - at), bytes_);
      copy_part(element, begin, end);
      at += end - begin;
      continue;
    }
    // The same nest of many elements, so few that they stay in the nearest cache.
    const std::uint64_t elements =
        std::min((to - at) / bytes_, std::max<std::uint64_t>(kTileBytes / bytes_, 1));
    for (const Nest& nest : nests_) {
      if (nest.loops.empty()) {
        copy({.at = nest.at + static_cast<std::ptrdiff_t>(element) * extent,
              .stride = extent,
              .packed = at - from + nest.first,
              .packed_stride = bytes_,
              .bytes = nest.run_bytes,
              .count = elements});
        continue;
      }
      for (std::uint64_t i = 0; i < elements; ++i) {
        copy_part(element + i, nest.first, nest.first + nest.bytes());
      }
    }
    at += elements * bytes_;
  }
}

namespace {

// A buffer may be MPI_BOTTOM, and strides may be negative: sums are those of numbers.
std::byte* address(const void* buffer, std::ptrdiff_t place) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                      static_cast<std::uintptr_t>(place));
}

/// Calls copy(layout in memory, layout among the packed bytes).
template <class Copy>
void with_layouts(const void* buffer, std::byte* packed, const Runs& runs, Copy copy) noexcept {
  if (runs.stride >= 0) {
    return copy(
        {address(buffer, runs.at), runs.bytes, runs.count, static_cast<std::uint64_t>(runs.stride)},
        {packed + runs.packed, runs.bytes, runs.count, runs.packed_stride});
  }
  for (std::uint64_t i = 0; i < runs.count; ++i) {
    const std::ptrdiff_t at = runs.at + static_cast<std::ptrdiff_t>(i) * runs.stride;
    copy({address(buffer, at), runs.bytes, 1, runs.bytes},
         {packed + runs.packed + i * runs.packed_stride, runs.bytes, 1, runs.bytes});
  }
}

}  // namespace

void TypeMap::pack(const void* buffer, std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
                   std::byte* packed) const {
  for_each_part(extent, from, to, [&](const Runs& runs) {
    with_layouts(buffer, packed, runs, [](const verbs::Layout& memory, const verbs::Layout& there) {
      engine::copy(there, memory);
    });
  });
}

void TypeMap::unpack(void* buffer, std::ptrdiff_t extent, std::uint64_t from, std::uint64_t to,
                     const std::byte* packed) const {
  // engine::copy() writes to the other end alone.
  auto* source = const_cast<std::byte*>(packed);
  for_each_part(extent, from, to, [&](const Runs& runs) {
    with_layouts(buffer, source, runs, [](const verbs::Layout& memory, const verbs::Layout& there) {
      engine::copy(memory, there);
    });
  });
}

const TypeMap* keep(TypeMap map) {
  constexpr std::size_t kMostKept = 1 << 18;  // nests, some 20 MiB
  struct Kept {
    std::mutex mutex;
    std::unordered_multimap<std::size_t, const TypeMap> maps;
    std::size_t nests = 0;
  };
  static auto* const kept = new Kept;  // calls may end after main()
  std::size_t hash = map.bytes();
  for (const Nest& nest : map.nests()) {
    hash = hash * 0x9e3779b97f4a7c15 + static_cast<std::size_t>(nest.at) + nest.run_bytes;
  }
  const std::lock_guard lock(kept->mutex);
  const auto [begin, end] = kept->maps.equal_range(hash);
  const auto known = std::find_if(begin, end, [&](const auto& one) { return one.second == map; });
  if (known != end) return &known->second;
  if (kept->nests + map.nests().size() > kMostKept) return nullptr;
  kept->nests += map.nests().size();
  return &kept->maps.emplace(hash, std::move(map))->second;
}

}  // namespace weft::mpi
