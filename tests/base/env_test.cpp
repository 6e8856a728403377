#include "base/env.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"

namespace weft::env::env_test {
namespace {

TEST(Env, ReadsSizesWithSuffixes) {
  EXPECT_EQ(parse_bytes("X", "512", 0, 1u << 20), 512u);
  EXPECT_EQ(parse_bytes("X", "4K", 0, 1u << 20), 4096u);
  EXPECT_EQ(parse_bytes("X", "1m", 0, 1u << 20), 1048576u);
  EXPECT_EQ(parse_bytes("X", "2T", 0, UINT64_MAX), std::uint64_t{2} << 40);
  EXPECT_EQ(parse_bytes("X", "15e", 0, UINT64_MAX), std::uint64_t{15} << 60);
}

TEST(Env, RefusesWhatIsNotASizeAndNamesIt) {
  for (const char* bad : {"", "K", "-1", "1.5K", "4KB", " 4", "99999999999999999999", "2M",
                          "18014398509481984K", "16E"}) {
    EXPECT_THROW(parse_bytes("WEFT_X", bad, 0, 1u << 20), UsageError) << bad;
  }
  try {
    parse_bytes("WEFT_X", "huge", 1, 64);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "WEFT_X=huge: not a size from 1 to 64 bytes (K, M, G, T, P and E are powers of 1024)");
  }
}

TEST(Env, ReadsIntegersAndFlagsWithinTheirRange) {
  EXPECT_EQ(parse_integer("X", "7", 0, 7), 7);
  EXPECT_THROW(parse_integer("X", "8", 0, 7), UsageError);
  EXPECT_THROW(parse_integer("X", "7x", 0, 7), UsageError);
  EXPECT_TRUE(parse_flag("X", "on"));
  EXPECT_FALSE(parse_flag("X", "0"));
  EXPECT_THROW(parse_flag("X", "maybe"), UsageError);
}

TEST(Env, TreatsAnEmptyVariableAsUnset) {
  ::setenv("WEFT_TEST_ENV", "", 1);
  EXPECT_FALSE(integer("WEFT_TEST_ENV", 0, 9).has_value());
  ::setenv("WEFT_TEST_ENV", "3", 1);
  EXPECT_EQ(integer("WEFT_TEST_ENV", 0, 9), 3);
  ::unsetenv("WEFT_TEST_ENV");
}

TEST(EnvDeathTest, ChangesAfterFreezingHaveNoEffect) {
  ::setenv("WEFT_TEST_ENV", "3", 1);
  ::setenv("WEFT_TEST_EMPTY", "", 1);
  const auto read_after_changes = [] {
    freeze();
    ::setenv("WEFT_TEST_ENV", "4", 1);
    ::setenv("WEFT_TEST_EMPTY", "5", 1);
    ::setenv("WEFT_TEST_LATE", "6", 1);
    freeze();
    const bool kept =
        integer("WEFT_TEST_ENV", 0, 9) == 3 && !text("WEFT_TEST_EMPTY") && !text("WEFT_TEST_LATE");
    ::_exit(kept ? 0 : 1);
  };
  EXPECT_EXIT(read_after_changes(), testing::ExitedWithCode(0), "");
  ::unsetenv("WEFT_TEST_ENV");
  ::unsetenv("WEFT_TEST_EMPTY");
}

}  // namespace
}  // namespace weft::env::env_test
