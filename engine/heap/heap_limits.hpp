// Limits on the size of a shared heap: memory, control groups and resource limits.
#pragma once

#include <cstdint>
#include <string>

namespace weft::engine::heap {

struct Limit {
  std::uint64_t bytes = 0;  // of address space
  std::string why_none;     // why there can be no heap, in one line; else empty
};

/// `asked` bytes; 0: as many as the machine, or this process's control group, has memory. Less
/// where resource limits demand it.
Limit limit_of(std::uint64_t asked);

}  // namespace weft::engine::heap
