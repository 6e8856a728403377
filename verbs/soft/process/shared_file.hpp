// The file behind a range of memory, when there is one that another process could map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/file.hpp"

namespace weft::soft {

/// `offset` is that of the page in which the range begins.
struct SharedFile {
  std::shared_ptr<File> file;
  std::uint64_t offset = 0;
};

enum class RangeState { unmapped, ordinary, shared };

/// Looks at this process's mappings: whether [address, address + bytes) is mapped (and writable,
/// when asked), and whether all of it is one MAP_SHARED mapping of a file that is open here or can
/// be opened by its path. `shared` is set when it is.
RangeState inspect_range(std::uint64_t address, std::uint64_t bytes, bool must_write,
                         SharedFile& shared);

}  // namespace weft::soft
