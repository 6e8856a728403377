#include "mpi/datatypes/type_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "mpi/datatypes/combiner.hpp"

namespace weft::mpi {

using engine::Loop;
using engine::Nest;

namespace {

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
  MPI_Datatype inner = contents.type();
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

void TypeMap::add(const Nest& nest) {
  const std::uint64_t bytes = nest.bytes();
  if (bytes == 0) return;
  const std::uint64_t first = std::exchange(bytes_, bytes_ + bytes);
  if (!nests_.empty() && nest.loops.empty() && nests_.back().loops.empty() &&
      nests_.back().at + static_cast<std::ptrdiff_t>(nests_.back().run_bytes) == nest.at) {
    nests_.back().run_bytes += nest.run_bytes;
  } else {
    nests_.push_back(nest);
    nests_.back().first = first;
  }
}

bool TypeMap::repeat(std::uint64_t count, std::ptrdiff_t stride) {
  if (count == 1) return true;
  if (count == 0) nests_.clear();
  if (nests_.size() <= 1) {
    bytes_ *= count;
    for (Nest& nest : nests_) {
      // One place is left for the loop over elements.
      nest.loops.push_front({count, stride});
      engine::simplify(nest);
      if (nest.loops.size() == engine::Loops::kMost) return false;
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
    add(nest);
    if (nests_.size() > kMostNests) return false;
  }
  return true;
}

const TypeMap* keep(TypeMap map) {
  constexpr std::size_t kMostKept = 1 << 17;  // nests, some 20 MiB
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
