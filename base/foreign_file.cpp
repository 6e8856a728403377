#include "base/foreign_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {

std::string why_not_safe_to_map(int descriptor, std::uint64_t bytes) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return "not a file of memory";
  if (status.st_uid != ::geteuid()) return fmt::format("of user {}", status.st_uid);
  if (static_cast<std::uint64_t>(status.st_size) < bytes) {
    return fmt::format("{} bytes, not {}", status.st_size, bytes);
  }
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return "not sealed against being made shorter";
  return {};
}

bool reaches(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return offset <= size && bytes <= size - offset;
}

}  // namespace weft
