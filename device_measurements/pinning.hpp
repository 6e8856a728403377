// Pinning of ranks to cores.
#pragma once

#include <sched.h>

#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"

namespace weft::device_measurements {

/// The cores that are in all of these masks (hierarchy::affinity_mask); none where a mask is
/// unknown or longer than a cpu_set_t.
inline cpu_set_t common_cores(std::span<const std::string> masks) {
  cpu_set_t common;
  std::memset(&common, masks.empty() ? 0 : 0xff, sizeof common);
  for (const std::string& mask : masks) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (mask.size() == sizeof one) std::memcpy(&one, mask.data(), sizeof one);
    CPU_AND(&common, &common, &one);
  }
  return common;
}

/// Pins this thread to one core during its lifetime. Otherwise the scheduler may put two ranks that
/// wait for each other on the same core.
class PinnedThread {
 public:
  /// To the `number`-th of `cores`. With fewer cores it changes nothing.
  PinnedThread(const cpu_set_t& cores, int number) {
    if (number < 0 || number >= CPU_COUNT(&cores)) return;
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) throw_errno("sched_getaffinity");
    int core = 0;
    for (int before = number; before > 0 || !CPU_ISSET(core, &cores); ++core) {
      before -= CPU_ISSET(core, &cores) ? 1 : 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) throw_errno("sched_setaffinity");
    bound_ = true;
  }
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;
  ~PinnedThread() {
    if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace weft::device_measurements
