#include "base/text_file.hpp"

#include <cerrno>
#include <fstream>

#include "base/error.hpp"

namespace weft {

std::string read_text_file(const std::string& path, std::size_t most_bytes, std::string_view what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("open(" + path + ")", errno);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw SystemError("read(" + path + ")", errno);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes) {
    throw_usage("{}: more than {} bytes: no {}", path, most_bytes, what);
  }
  return text;
}

}  // namespace weft
