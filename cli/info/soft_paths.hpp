// Paths by which the software device would move bytes between processes here, for `weft info`.
#pragma once

#include <string>
#include <vector>

#include "engine/views/view.hpp"

namespace weft::cli {

struct SoftPath {
  std::string name;  // as WEFT_SOFT_PATH names it
  bool used = false;
  std::string what;  // for which memory, or why not; one line
};

/// Best first. `setting` is the value of WEFT_SOFT_PATH, or empty; `cma` says whether the kernel
/// lets processes write each other's memory.
std::vector<SoftPath> soft_paths(const std::string& setting, const engine::ViewReport& cma);

}  // namespace weft::cli
