// Views: the ways in which a rank reads and writes the buffers of another rank on its node, and the
// setting WEFT_VIEW, which bounds them. PeerMemory (engine/views/peer_memory.hpp) tries them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

/// Best first.
enum class View : std::uint8_t {
  same_process,  ///< Ranks are threads of one process: addresses mean the same to all.
  shared_heap,   ///< In place, where the buffer lies in the peer's shared heap; else by the next.
  xpmem,         ///< In place: the peer's memory, mapped by the xpmem project's kernel module.
  cma,           ///< Copied by process_vm_readv and process_vm_writev.
  staged,        ///< Not at all: only through stages.
};

inline constexpr std::size_t kViews = 5;
constexpr std::size_t index_of(View view) {
  return static_cast<std::size_t>(view);
}
std::string_view to_string(View view);

/// WEFT_VIEW=auto|shared-heap|xpmem|cma|staged: the best view that may be used. shared-heap allows
/// same_process, too. UsageError for any other text.
View best_allowed_view();

struct ViewReport {
  std::string name;
  bool works = false;
  std::string why;  // a remark in one line; the reason when it does not work
};

/// All views, tried on a child process, for `weft info`.
std::vector<ViewReport> report_views();

}  // namespace weft::engine
