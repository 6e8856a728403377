// Where the bytes are that cores read: in a cache, in memory, or in memory as the adapter left
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
/// cache they are there, but for what the adapter has written since. Where they do not, bytes are
/// cached as long as the cores of the node have not touched more than the cache holds since they
/// last touched these; what none has touched yet is in memory.
class Memory {
 public:
  /// The arguments must live longer.
  Memory(const Program& program, const hierarchy::Machine& machine, std::uint64_t cache_bytes);

  /// A core reads `bytes` of the side: where they are. After that they are cached.
  Whereabouts read(const Side& side, std::uint64_t bytes);
  void written_by_core(const Side& side, std::uint64_t bytes);
  void written_by_adapter(const Side& side);

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
  void assign(const Side& side, std::uint32_t value);

  const Program& program_;
  const hierarchy::Machine& machine_;
  const std::uint64_t cache_bytes_;
  const std::uint64_t unit_bytes_;
  std::vector<std::vector<Range>> regions_;
  std::vector<Cache> caches_;  // by node
};

}  // namespace weft::sim
