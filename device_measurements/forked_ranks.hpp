// Forked ranks: the ranks of a probe on one machine, as child processes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "weft/weft.hpp"

namespace weft::device_measurements {

/// This process is rank 0; the others are forked and call serve(). They are connected by TCP over
/// the loopback, end when this process does and ignore interrupts, which rank 0 handles.
class ForkedRanks {
 public:
  /// `ranks` in all: an even number, at least 2. Those of the second half use the ports that
  /// `peer_device` names, as WEFT_DEVICE does; empty: the same as the others. SystemError when a
  /// fork fails. To be called only while this process has one thread.
  explicit ForkedRanks(int ranks, const std::string& peer_device = "");
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;
  /// Waits for the others for kGrace_ms, then kills them.
  ~ForkedRanks() { end_others(kGrace_ms); }

  /// Rank 0's bootstrap. Waits for the others. To be destroyed before this.
  std::unique_ptr<Bootstrap> bootstrap();

 private:
  static constexpr int kGrace_ms = 2000;
  void end_others(int grace_ms) noexcept;

  File port_;  // reserves the port until rank 0 listens there
  File secret_;
  std::vector<pid_t> others_;
};

}  // namespace weft::device_measurements
