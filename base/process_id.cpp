#include "base/process_id.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/file.hpp"

namespace weft {

namespace {

/// 0: cannot be known.
std::uint64_t start_of(pid_t process) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", process);
  const File file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  // 52 numbers of up to 20 digits, and a name of up to 64 bytes.
  std::array<char, 2048> text{};
  ssize_t bytes = -1;
  do {
    bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
  } while (bytes < 0 && file && errno == EINTR);
  if (bytes <= 0) return 0;
  return start_in({text.data(), static_cast<std::size_t>(bytes)}).value_or(0);
}

std::uint64_t own_clock() noexcept {
  struct stat status {};
  return ::stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ProcessId this_process() noexcept {
  static std::atomic<std::uint64_t> start, clock;
  static std::atomic<pid_t> known;  // of which process they are: a child of fork has its own
  const pid_t process = ::getpid();
  if (known.load(std::memory_order_acquire) != process) {
    // Threads that come here at the same time find the same.
    start.store(start_of(process), std::memory_order_relaxed);
    clock.store(own_clock(), std::memory_order_relaxed);
    known.store(process, std::memory_order_release);
  }
  return {process, start.load(std::memory_order_relaxed), clock.load(std::memory_order_relaxed)};
}

bool is_another(const ProcessId& process) noexcept {
  if (process.start == 0 || process.clock != this_process().clock) return false;
  const std::uint64_t start = start_of(process.number);
  return start != 0 && start != process.start;
}

std::optional<std::uint64_t> start_in(std::string_view stat) noexcept {
  // Field 2 is the program's name in parentheses. It may have any characters, parentheses and
  // spaces too; what follows it has none of them.
  constexpr int kNameField = 2, kStartField = 22;
  const auto name_end = stat.rfind(") ");
  if (name_end == stat.npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  for (int field = kNameField; field < kStartField; ++field) {
    const auto end = stat.find(' ');
    if (end == stat.npos) return std::nullopt;
    stat.remove_prefix(end + 1);
  }
  std::uint64_t start = 0;
  const auto parsed = std::from_chars(stat.data(), stat.data() + stat.size(), start);
  if (parsed.ec != std::errc() || parsed.ptr == stat.data() + stat.size() || *parsed.ptr != ' ') {
    return std::nullopt;
  }
  return start;
}

}  // namespace weft
