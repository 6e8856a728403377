#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>

#include "base/error.hpp"

namespace weft {

void fill_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) throw_errno("getrandom");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_token() {
  std::uint64_t token = 0;
  while (token == 0) fill_random(std::as_writable_bytes(std::span(&token, 1)));
  return token;
}

}  // namespace weft
