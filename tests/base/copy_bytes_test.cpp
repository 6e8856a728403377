#include "base/copy_bytes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weft::copy_bytes_test {
namespace {

RC_GTEST_PROP(CopyBytes, CopiesThoseAndNoOthersWhateverTheDistance, ()) {
  constexpr std::size_t kMost = 3 * 4096;
  const auto bytes = *rc::gen::inRange<std::size_t>(0, kMost + 1);
  const auto from = *rc::gen::inRange<std::size_t>(0, 64);
  // From those a little behind the source to those a little ahead, and any.
  const auto ahead =
      *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 64), rc::gen::inRange<std::size_t>(0, 4096));
  std::vector<std::uint8_t> source(kMost + 64);
  std::uint8_t next = 1;
  for (auto& byte : source) byte = next = static_cast<std::uint8_t>(next * 5 + 1);
  std::vector<std::uint8_t> memory(2 * 4096 + kMost + 64, 0xa5);
  const auto distance = reinterpret_cast<std::uintptr_t>(source.data() + from) + ahead -
                        reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t to = distance % 4096;
  auto expected = memory;
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
              expected.begin() + static_cast<std::ptrdiff_t>(to));
  copy_bytes(memory.data() + to, source.data() + from, bytes);
  RC_ASSERT(memory == expected);
}

TEST(CopyBytes, TakesNullPointersForNothing) {
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace weft::copy_bytes_test
