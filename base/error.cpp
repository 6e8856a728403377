#include "base/error.hpp"

#include <cstring>

namespace weft {

namespace {
std::string describe(std::string_view call, int error) {
  char buffer[128];
  return fmt::format("{}: {} (errno {})", call, strerror_r(error, buffer, sizeof buffer), error);
}
}  // namespace

SystemError::SystemError(std::string_view call, int error)
    : Error(describe(call, error)), error_(error) {}

void throw_errno(std::string_view call) {
  throw SystemError(call, errno);
}

}  // namespace weft
