// Call tag: number of a call of a communicator, and a digest of it and of all calls before it.
//
// Every signal and every message carries the digest, and ranks publish the tag of the call that
// they are in. Two ranks whose digests differ have made different calls, this time or before.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "plan/problem.hpp"

namespace weft::engine {

struct CallTag {
  std::uint32_t number = 0;
  std::uint32_t digest = 0;

  /// The next call, of which all ranks give the same `key`.
  void next(std::uint32_t key) noexcept {
    ++number;
    digest = (std::rotl(digest, 5) ^ key) * 0x9e3779b1u;
  }
  std::uint64_t word() const noexcept { return std::uint64_t{number} << 32 | digest; }
  static CallTag of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
};

/// The arguments of a call that an error names.
struct CallName {
  plan::Collective collective = plan::Collective::barrier;
  int root = 0;
  std::uint64_t block_bytes = 0;
  std::uint16_t algorithm = 0;  // its number in the rank's posting
};

/// "broadcast of 64 bytes with root 1".
std::string to_string(const CallName& name);

/// The beginning of errors of ranks that make different calls.
inline constexpr std::string_view kDisagree = "ranks disagree: ";
inline bool is_disagreement(std::string_view error) noexcept {
  return error.starts_with(kDisagree);
}
}  // namespace weft::engine
