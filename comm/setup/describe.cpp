#include "comm/setup/describe.hpp"

#include <fmt/format.h>

namespace weft::comm {

std::string describe(const plan::Problem& problem) {
  std::string text =
      fmt::format("{} of {} bytes", to_string(problem.collective), problem.block_bytes);
  if (problem.in_place) text += " in place";
  if (is_rooted(problem.collective)) text += fmt::format(" with root {}", problem.root);
  if (is_reduction(problem.collective)) {
    text += fmt::format(" in elements of {}{}", problem.element_bytes,
                        problem.commutative ? "" : " in order");
  }
  if (!problem.layout.empty()) {
    std::uint64_t digest = 0;
    for (const plan::Block& block : problem.layout) {
      digest = (digest ^ block.offset ^ (block.bytes << 1)) * 0x9e3779b97f4a7c15u;
    }
    text += fmt::format(" and blocks {:x}", digest);
  }
  return text;
}

}  // namespace weft::comm
