// Standstill watch: says why the ranks of this process's node stand still, when a signal asks for
// it, or when a set-up takes longer than WEFT_TIMEOUT.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/file.hpp"

namespace weft::comm {

struct Settings;

/// A thread that sleeps until the signal comes, or a second has passed where there is a timeout. It
/// reads boards, and touches nothing that calls use. One for the process; none where no setting
/// asks for it. The signal is taken only where the program leaves it as the system has it, and
/// given back at the end.
///
/// Calls that wait in the executor see to WEFT_TIMEOUT themselves. A set-up waits in the bootstrap,
/// which has no bound: this says so, once, and lets it wait.
class StandstillWatch {
 public:
  /// That of this process, as long as somebody holds it; null where no setting asks for one.
  /// std::system_error where there can be no more threads.
  static std::shared_ptr<StandstillWatch> shared(const Settings& settings);

  StandstillWatch(int signal, std::int64_t timeout_ns);
  StandstillWatch(const StandstillWatch&) = delete;
  StandstillWatch& operator=(const StandstillWatch&) = delete;
  ~StandstillWatch();

  /// For the report: why the signal was not taken; empty where it was, or none was asked for.
  const std::string& why_no_signal() const noexcept { return why_no_signal_; }

 private:
  void take_signal();
  void serve() noexcept;
  void look_at_set_ups();

  const pid_t process_;
  int signal_;
  std::int64_t timeout_ns_;
  std::string why_no_signal_;
  File bell_;  // an eventfd
  std::atomic<bool> ends_{false};
  std::set<std::pair<std::uint64_t, std::uint32_t>> said_;  // communicator, and number of the call
  std::thread thread_;
};

}  // namespace weft::comm
