// Process handle: tells whether another process of this host has ended.
#pragma once

#include <memory>

#include "base/file.hpp"
#include "base/process_id.hpp"

namespace weft {

/// A pidfd. The communicators of a process share one for each neighbour. Thread safe.
class ProcessHandle {
 public:
  /// Of a living process, or of one that has ended since its number became known, also where the
  /// number is another's by now. Null when the system refuses a pidfd.
  static std::shared_ptr<const ProcessHandle> of(const ProcessId& process) noexcept;

  explicit ProcessHandle(File file) : file_(std::move(file)) {}
  /// Reaped or not.
  bool has_ended() const noexcept;

 private:
  File file_;  // empty: had ended before it could be opened
};

}  // namespace weft
