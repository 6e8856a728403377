// Ranks on cores that the scheduler does not choose.
#pragma once

#include <sched.h>

#include "base/error.hpp"

namespace weft::probe {

/// The cores that this thread may run on; none where the machine has more than a cpu_set_t.
inline cpu_set_t allowed_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_ZERO(&cores);
  return cores;
}

/// While it lives this thread runs on one of its cores alone. Two ranks that wait for one another
/// may else be put on one core, and measure the scheduler.
class OnCore {
 public:
  /// The `number`-th of `allowed`, where there are so many; all of them with another number.
  OnCore(const cpu_set_t& allowed, int number) : allowed_(allowed) {
    if (number < 0 || number >= CPU_COUNT(&allowed)) return;
    int core = 0;
    for (int before = number; before > 0 || !CPU_ISSET(core, &allowed); ++core) {
      before -= CPU_ISSET(core, &allowed) ? 1 : 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) throw_errno("sched_setaffinity");
  }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;
  ~OnCore() {
    if (CPU_COUNT(&allowed_) != 0) ::sched_setaffinity(0, sizeof allowed_, &allowed_);
  }

 private:
  cpu_set_t allowed_;
};

}  // namespace weft::probe
