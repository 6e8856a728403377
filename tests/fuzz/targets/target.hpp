// Target: a function that takes any bytes, as libFuzzer calls it. Errors that are declared for them
// are fine; anything else that goes wrong ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error_types.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace weft::test {

inline std::string_view text_of(const std::uint8_t* data, std::size_t bytes) {
  return {reinterpret_cast<const char*>(data), bytes};
}

/// Runs `what`, which may refuse its input.
template <class What>
void may_refuse(What what) {
  try {
    what();
  } catch (const UsageError&) {
  }
}

inline void must(bool good) {
  if (!good) std::abort();
}

}  // namespace weft::test
