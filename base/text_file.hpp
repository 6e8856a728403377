// Text files, read as a whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// The content of the file. SystemError when it cannot be read; UsageError, one line of the form
/// "PATH: more than N bytes: no WHAT", when it is larger than that.
std::string read_text_file(const std::string& path, std::size_t most_bytes, std::string_view what);

}  // namespace weft
