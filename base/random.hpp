// Random numbers that nobody can guess: for secrets, and for tokens that tell ours from others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// Fills `bytes` from the kernel's generator. SystemError.
void fill_random(std::span<std::byte> bytes);

/// Any number but 0.
std::uint64_t random_token();

}  // namespace weft
