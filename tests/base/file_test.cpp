#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::file_test {
namespace {

TEST(Pipe, HoldsWhatItsReaderHasNotTaken) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const File reader(ends[0]), writer(ends[1]);
  EXPECT_FALSE(holds_unread(writer.get()));
  ASSERT_EQ(::write(writer.get(), "ab", 2), 2);
  char taken = 0;
  ASSERT_EQ(::read(reader.get(), &taken, 1), 1);
  EXPECT_TRUE(holds_unread(writer.get()));
  EXPECT_TRUE(holds_unread(reader.get()));
  ASSERT_EQ(::read(reader.get(), &taken, 1), 1);
  EXPECT_FALSE(holds_unread(writer.get()));
  EXPECT_FALSE(holds_unread(-1));
}

TEST(Pipe, IsNoOtherFile) {
  const File file = make_memory_file("weft-test", 4096);
  EXPECT_FALSE(holds_unread(file.get()));
}

TEST(TextFile, IsReadWholeUpToItsLimitAndRefusedBeyond) {
  const std::string path = testing::TempDir() + fmt::format("weft-text-{}", ::getpid());
  const std::string text("no end\0 here\n", 13);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(read_text_file(path, 1000, "poem"), text);
  EXPECT_EQ(read_text_file(path, text.size(), "poem"), text);
  try {
    read_text_file(path, text.size() - 1, "poem");
    ADD_FAILURE() << "a file that is too large was read";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), path + ": more than 12 bytes: no poem");
  }
  std::remove(path.c_str());
}

TEST(TextFile, ThatCannotBeReadIsNamed) {
  for (const std::string path : {"/no/such/file", "/"}) {
    try {
      read_text_file(path, 1000, "poem");
      ADD_FAILURE() << path << " was read";
    } catch (const SystemError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
}

TEST(DescriptorsDeathTest, AQuarterIsLeftToTheProgram) {
  const auto fill = [] {
    const rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto refused = [](std::size_t more) {
      try {
        leave_descriptors(more);
        return false;
      } catch (const Error&) {
        return true;
      }
    };
    while (::dup(0) < 39) {
    }  // 40 are in use
    const bool counts = !refused(8) && refused(9);
    while (::dup(0) < 47) {
    }
    const bool at_limit = !refused(0) && refused(1);
    while (::dup(0) >= 0) {
    }
    ::_exit(counts && at_limit && refused(0) ? 0 : 1);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(0), "");
}

TEST(AddressesDeathTest, AQuarterIsLeftToTheProgram) {
  const auto fill = [] {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    const auto in_use = [] {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    };
    const auto refused = [](std::size_t more) {
      try {
        leave_addresses(more);
        return false;
      } catch (const SystemError& error) {
        return error.error() == ENOMEM;
      }
    };
    if (refused(in_use() * 100)) ::_exit(1);  // no limit
    const std::size_t limit = 2 * in_use() + 400 * kMiB;
    const rlimit limits{limit, limit};
    ::setrlimit(RLIMIT_AS, &limits);
    const std::size_t most = limit / 4 * 3 - in_use();
    const bool counts = !refused(most - kMiB) && refused(most + kMiB);
    const File file = make_memory_file("addresses", kMiB);
    bool maps = false;
    try {
      const Mapping all(file.get(), most + kMiB);
    } catch (const SystemError&) {
      maps = Mapping(file.get(), kMiB).size() == kMiB;
    }
    ::_exit(counts && maps ? 0 : 2);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::file_test
