// Where the bytes are that cores read: in a cache, in memory, or in memory as the adapter left
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/hardware.hpp"
#include "sim/program.hpp"

namespace weft::sim {

/// Bytes by where they are.
struct Whereabouts {
  std::uint64_t cached = 0;
  std::uint64_t memory = 0;
  std::uint64_t fresh = 0;
};

/// The caches of all nodes, one for each.
///
/// A collective is taken to be called again and again. Where all buffers of a node fit into its
/// cache they are there, but for what the adapter has written or fetched since: both take bytes out
/// of the cores' caches, the second so that a core that writes there again waits for memory. Where
/// they do not, bytes are cached as long as the cores of the node have not touched more than the
/// cache holds since they last touched these; what none has touched yet is in memory.
class Memory {
 public:
  /// The arguments must live longer.
  Memory(Program& program, const hierarchy::Machine& machine, const Adapter& adapter,
         std::uint64_t cache_bytes);

  /// A part of a side of `bytes`: `length` of them from the `from`-th on, in the side's own order.
  struct Part {
    const Side& side;
    std::uint64_t bytes;
    std::uint64_t from;
    std::uint64_t length;
  };

  /// A core reads `part`: where it is. After that it is cached.
  Whereabouts read(const Part& part);
  Whereabouts read(const Side& side, std::uint64_t bytes) { return read({side, bytes, 0, bytes}); }
  /// How many of them the adapter had moved since a core had them.
  std::uint64_t written_by_core(const Side& side, std::uint64_t bytes);
  /// The adapter has written or fetched them.
  void moved_by_adapter(const Side& side, std::uint64_t bytes);

 private:
  /// What is known of the bytes from `begin` to where the next range begins.
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
  void add(Whereabouts& found, const Cache& cache, std::uint32_t region, std::uint64_t begin,
           std::uint64_t end) const;
  void assign(std::uint32_t region, std::uint64_t begin, std::uint64_t end, std::uint32_t value);
  void assign(const Part& part, std::uint32_t value);

  const Program& program_;
  const hierarchy::Machine& machine_;
  const std::uint64_t cache_bytes_;
  const std::uint64_t unit_bytes_;
  std::vector<std::vector<Range>> regions_;
  std::vector<Cache> caches_;  // by node
};

}  // namespace weft::sim
