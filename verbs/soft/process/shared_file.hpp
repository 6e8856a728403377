// Shared files: finds the file behind a range of memory, for another process to map.
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

/// Inspects the mappings of [address, address + bytes) in this process. `unmapped`: not all of it
/// is mapped readable (and writable, when asked). `shared`: all of it maps one file MAP_SHARED, and
/// that file is open here or can be opened by its path; it is put into the argument `shared`.
RangeState inspect_range(std::uint64_t address, std::uint64_t bytes, bool must_write,
                         SharedFile& shared);

}  // namespace weft::soft
