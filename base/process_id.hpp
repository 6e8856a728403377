// Process id: a process of this host, told apart from later ones to which the kernel gives its
// number.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// For processes of one PID namespace, with a /proc of that namespace.
struct ProcessId {
  pid_t number = 0;         // 0: not known
  std::uint64_t start = 0;  // when it began, in the kernel's ticks since boot; 0: not known
  std::uint64_t clock = 0;  // the time namespace in which `start` was read

  auto operator<=>(const ProcessId&) const = default;
};

/// This process. Reads /proc once.
ProcessId this_process() noexcept;

/// Whether the number is another process's by now. False where that cannot be known: /proc is
/// hidden, or `start` is of another clock.
bool is_another(const ProcessId& process) noexcept;

/// When a process began, from the text of its /proc/PID/stat; nothing in a text that has another
/// form.
std::optional<std::uint64_t> start_in(std::string_view stat) noexcept;

}  // namespace weft
