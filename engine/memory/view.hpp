// Views: how a rank reaches the buffers of a rank on its node.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/channel/channel.hpp"

namespace weft::engine {

/// Best first.
enum class View : std::uint8_t {
  same_process,  ///< Ranks are threads: an address is an address.
  shared_heap,   ///< Where it lies in the peer's shared heap, in place; the rest by the next.
  xpmem,         ///< The peer's memory, mapped by the xpmem project's kernel module; in place.
  cma,           ///< process_vm_readv and process_vm_writev.
  staged,        ///< Only through the shared segment.
};

inline constexpr std::size_t kViews = 5;
constexpr std::size_t index_of(View view) {
  return static_cast<std::size_t>(view);
}
std::string_view to_string(View view);

/// WEFT_VIEW=auto|shared-heap|xpmem|cma|staged: none better is used, but for same process, which
/// goes with shared-heap.
View best_allowed_view();

/// Whether this process can read `process` by cma, tried on a word at `address` that must be
/// `expected`; errno says why not.
bool has_cma(pid_t process, std::uint64_t address, std::uint64_t expected) noexcept;

struct ViewReport {
  std::string name;
  bool works = false;
  std::string why;  // when it does not; one line
};

/// All views that weft knows, tried on a child process, for `weft info`.
std::vector<ViewReport> report_views();

/// Moves bytes between this process and `process` in one direction by system calls. False with
/// errno set when refused; nothing is known of the destination then. `theirs.base` is their
/// address.
bool read_from(pid_t process, const verbs::Layout& ours, const verbs::Layout& theirs) noexcept;
bool write_to(pid_t process, const verbs::Layout& ours, const verbs::Layout& theirs) noexcept;

}  // namespace weft::engine
