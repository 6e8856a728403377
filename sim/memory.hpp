// Cache model: whether bytes that cores read are in a cache, in memory, or in memory where the
// adapter has just written them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/hardware.hpp"
#include "sim/program.hpp"

namespace weft::sim {

/// Counts of bytes by where they are.
struct Residency {
  std::uint64_t cached = 0;
  std::uint64_t memory = 0;
  std::uint64_t fresh = 0;
};

/// The caches of all nodes, one for each.
///
/// Assumes that a collective is called repeatedly. Where all buffers of a node fit into its cache
/// they are cached, except for bytes that the adapter has written or fetched since: both remove
/// bytes from the cores' caches, so that a core that writes there again waits for memory. Where
/// they do not fit, bytes are cached until the cores of the node have touched more than the cache
/// holds; bytes that no core has touched are in memory.
class Memory {
 public:
  /// The arguments must live longer.
  Memory(Program& program, const Members& members, const Adapter& adapter,
         std::uint64_t cache_bytes);

  /// A part of a side of `bytes`: `length` bytes from position `from`, in the side's own order.
  struct Part {
    const Side& side;
    std::uint64_t bytes;
    std::uint64_t from;
    std::uint64_t length;
  };

  /// Each of `cores` reads such a part. Returns where its bytes were; after that they are cached.
  Residency read(const Part& part, int cores = 1);
  Residency read(const Side& side, std::uint64_t bytes, int cores = 1) {
    return read({side, bytes, 0, bytes}, cores);
  }
  /// Each of `cores` writes such bytes. Returns how many the adapter had moved since a core touched
  /// them.
  std::uint64_t written_by_core(const Side& side, std::uint64_t bytes, int cores = 1);
  /// The adapter has written or fetched them.
  void moved_by_adapter(const Side& side, std::uint64_t bytes);

 private:
  /// State of the bytes from `begin` to the next range.
  struct Range {
    std::uint64_t begin = 0;
    std::uint32_t last_touch = 0;  // in units of the node's `touched`; or kUntouched, kFresh
  };
  static constexpr std::uint32_t kUntouched = 0;
  static constexpr std::uint32_t kFresh = UINT32_MAX;

  struct Cache {
    bool holds_all = false;
    std::uint64_t touched = 0;  // bytes, since the beginning
  };

  Cache& cache_of(const Side& side);
  std::uint32_t now(const Cache& cache) const;
  void add(Residency& found, const Cache& cache, std::uint32_t region, std::uint64_t begin,
           std::uint64_t end) const;
  void assign(std::uint32_t region, std::uint64_t begin, std::uint64_t end, std::uint32_t value);
  void assign(const Part& part, std::uint32_t value);
  void assign_blocks(const Part& part, std::uint32_t value);

  const Program& program_;
  const Members& members_;
  const std::uint64_t cache_bytes_;
  const std::uint64_t unit_bytes_;
  std::vector<std::vector<Range>> regions_;
  std::vector<Cache> caches_;  // by node
};

}  // namespace weft::sim
