#include "engine/node/call_tag.hpp"

#include <fmt/format.h>

namespace weft::engine {

std::string to_string(const CallName& name) {
  std::string text = fmt::format("{} of {} bytes", to_string(name.collective), name.block_bytes);
  if (is_rooted(name.collective)) text += fmt::format(" with root {}", name.root);
  return text;
}

}  // namespace weft::engine
