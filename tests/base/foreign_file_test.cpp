// Files of memory that another process has made: which ones may be mapped.
#include "base/foreign_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/file.hpp"
#include "base/random.hpp"

namespace weft::foreign_file_test {
namespace {

File made(off_t bytes, unsigned seals) {
  File file(::memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), bytes), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

TEST(ForeignFile, IsSafeToMapWhenNobodyCanMakeItShorter) {
  EXPECT_EQ(why_not_safe_to_map(made(8192, F_SEAL_SHRINK).get(), 8192), "");
  EXPECT_EQ(why_not_safe_to_map(made(8192, F_SEAL_SHRINK | F_SEAL_GROW).get(), 1), "");
  EXPECT_EQ(why_not_safe_to_map(made(8192, F_SEAL_GROW).get(), 8192),
            "not sealed against being made shorter");
  EXPECT_EQ(why_not_safe_to_map(made(8191, F_SEAL_SHRINK).get(), 8192), "8191 bytes, not 8192");
  EXPECT_EQ(why_not_safe_to_map(made(1, F_SEAL_SHRINK).get(), UINT64_MAX),
            "1 bytes, not 18446744073709551615");
  EXPECT_EQ(why_not_safe_to_map(-1, 0), "not a file of memory");
}

TEST(ForeignFile, OfNoMemoryIsNot) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const File reads(ends[0]), writes(ends[1]);
  EXPECT_EQ(why_not_safe_to_map(reads.get(), 0), "not a file of memory");
  std::string path = testing::TempDir() + "weft-file-XXXXXX";
  const File file(::mkstemp(path.data()));
  ::unlink(path.c_str());
  EXPECT_EQ(why_not_safe_to_map(file.get(), 0), "not sealed against being made shorter");
}

TEST(ForeignFile, OfAnotherUserIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const File file = made(8192, F_SEAL_SHRINK);
  ASSERT_EQ(::fchown(file.get(), 65534, 65534), 0);
  EXPECT_EQ(why_not_safe_to_map(file.get(), 8192), "of user 65534");
}

TEST(ForeignFile, ReachesAsFarAsItIsLong) {
  const File file = made(8192, 0);
  EXPECT_TRUE(reaches(file.get(), 0, 8192));
  EXPECT_TRUE(reaches(file.get(), 4096, 4096));
  EXPECT_FALSE(reaches(file.get(), 4096, 4097));
  EXPECT_FALSE(reaches(file.get(), 8193, 0));
  EXPECT_FALSE(reaches(file.get(), 4096, UINT64_MAX - 100));
  EXPECT_FALSE(reaches(-1, 0, 0));
}

TEST(Random, IsAnotherEachTime) {
  EXPECT_NE(random_token(), random_token());
  std::array<std::byte, 64> bytes{};
  fill_random(bytes);
  // 64 zeros in a row: once in 2^512.
  EXPECT_TRUE(std::ranges::any_of(bytes, [](std::byte one) { return one != std::byte{0}; }));
}

}  // namespace
}  // namespace weft::foreign_file_test
