// Files of memory that another process has made: what is asked of one before it is mapped.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Empty when the file is this user's, has `bytes` bytes or more, and is sealed against being made
/// shorter (F_SEAL_SHRINK): to touch these bytes of a mapping cannot raise SIGBUS, whatever its
/// maker does. Else why not, in a few words.
std::string why_not_safe_to_map(int descriptor, std::uint64_t bytes);

/// The same of a file that its maker may not have sealed, as programs' files are: whether it has
/// the bytes [offset, offset + bytes) by now.
bool reaches(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace weft
