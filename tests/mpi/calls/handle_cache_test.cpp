// What is cached of handles, as some are freed.
#include "mpi/host/handle_cache.hpp"

#include <gtest/gtest.h>

namespace weft::mpi {
namespace {

using Cache = HandleCache<int, int>;
constexpr int kNone = -1, kLasts = 1, kOther = 2;

class HandleCacheTest : public testing::Test {
 protected:
  HandleCacheTest() {
    Cache::forget_lasting();
    Cache::keep_lasting(kLasts, 10);
    Cache::keep(kOther, 20, Cache::generation_now());
  }
};

TEST_F(HandleCacheTest, FindsWhatWasKept) {
  ASSERT_NE(Cache::find(kLasts), nullptr);
  EXPECT_EQ(*Cache::find(kLasts), 10);
  ASSERT_NE(Cache::find(kOther), nullptr);
  EXPECT_EQ(*Cache::find(kOther), 20);
  EXPECT_EQ(Cache::find(3), nullptr);
}

TEST_F(HandleCacheTest, ForgetsAllButWhatLasts) {
  const std::uint64_t of_both = Cache::since({kLasts, kOther}, kNone);
  const std::uint64_t of_lasting = Cache::since({kLasts, kNone}, kNone);
  Cache::forget_all();
  EXPECT_NE(Cache::find(kLasts), nullptr);
  EXPECT_EQ(Cache::find(kOther), nullptr);
  EXPECT_FALSE(Cache::holds(of_both));
  EXPECT_TRUE(Cache::holds(of_lasting));
}

TEST_F(HandleCacheTest, ForgetsWhatLastsWhereMpiEnds) {
  const std::uint64_t of_lasting = Cache::since({kLasts}, kNone);
  Cache::forget_lasting();
  EXPECT_EQ(Cache::find(kLasts), nullptr);
  EXPECT_EQ(Cache::find(kOther), nullptr);
  EXPECT_FALSE(Cache::holds(of_lasting));
}

TEST_F(HandleCacheTest, KeepsNothingThatWasAskedForBeforeAnotherWasFreed) {
  const std::uint64_t asked_at = Cache::generation_now();
  Cache::forget_all();
  Cache::keep(kOther, 30, asked_at);
  EXPECT_EQ(Cache::find(kOther), nullptr);
}

TEST_F(HandleCacheTest, HoldsNothingOfHandlesThatItDoesNotKnow) {
  EXPECT_EQ(Cache::since({kLasts, 3}, kNone), Cache::kNever);
  EXPECT_FALSE(Cache::holds(Cache::kNever));
  Cache::forget_all();
  EXPECT_EQ(Cache::since({kOther}, kNone), Cache::kNever);
}

}  // namespace
}  // namespace weft::mpi
