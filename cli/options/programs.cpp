#include "cli/options/programs.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::cli {

std::string find_program(std::string_view command, const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const std::string path = env::text("PATH").value_or("/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = begin == end ? "." : path.substr(begin, end - begin);
    const std::string file = folder + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  throw_usage("{} {}: no such program on PATH", command, name);
}

}  // namespace weft::cli
