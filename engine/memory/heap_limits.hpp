// How large a shared heap may be.
#pragma once

#include <cstdint>
#include <string>

namespace weft::engine::heap {

struct Limit {
  std::uint64_t bytes = 0;  // of address space
  std::string why_none;     // when there may be none; one line
};

/// `asked` for, 0: as much as there is memory: of the machine, or of this process's control group.
Limit limit_of(std::uint64_t asked);

}  // namespace weft::engine::heap
