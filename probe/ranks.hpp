// The ranks of a probe on one machine: processes of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "weft/weft.hpp"

namespace weft::probe {

/// This process as rank 0, and ranks that it has forked, which serve(). They are joined by TCP over
/// the loopback, end when this process does and do not hear interrupts, which are for rank 0.
class ForkedRanks {
 public:
  /// `ranks` in all, at least 2; an even number. Those of the second half take the ports that
  /// `peer_device` names, as WEFT_DEVICE does; empty: the same as the others. SystemError when
  /// there is no process to be had. Only while this process has one thread.
  explicit ForkedRanks(int ranks, const std::string& peer_device = "");
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;
  /// Waits for the others, though not for long: then they are killed.
  ~ForkedRanks() { end_others(kGrace_ms); }

  /// Rank 0's. Waits for the others to appear. To be gone before this is.
  std::unique_ptr<Bootstrap> bootstrap();

 private:
  static constexpr int kGrace_ms = 2000;
  void end_others(int grace_ms) noexcept;

  File port_;  // keeps it ours until rank 0 listens there
  std::vector<pid_t> others_;
};

}  // namespace weft::probe
