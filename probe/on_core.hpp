// Ranks on cores that the scheduler does not choose.
#pragma once

#include <sched.h>

#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"

namespace weft::probe {

/// The cores that processes of all these masks (hierarchy::affinity_mask) may run on; none where a
/// mask is unknown or longer than a cpu_set_t.
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

/// While it lives this thread runs on one core alone. Two ranks that wait for one another may else
/// be put on one core, and measure the scheduler.
class OnCore {
 public:
  /// The `number`-th of `cores`, where there are so many; else nothing is changed.
  OnCore(const cpu_set_t& cores, int number) {
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
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;
  ~OnCore() {
    if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace weft::probe
