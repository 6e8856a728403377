// A neighbour whose process has ended is seen to have ended, though its number is another
// process's by now.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "engine/node/node_control.hpp"
#include "tests/base/reused_number.hpp"

namespace weft::engine::reused_number_test {
namespace {

const std::vector<int> kRanks = {0, 1};

/// The handle that a process which is rank 1 has written; the process then stands still.
std::string handle_of_rank_1(std::size_t bytes) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const File reader(ends[0]), writer(ends[1]);
  begin_child([&] {
    const NodeControl theirs(1, kRanks, {});
    EXPECT_TRUE(write_all(writer.get(), theirs.handle()));
    ::pause();
  });
  std::string handle(bytes, '\0');
  EXPECT_EQ(::read(reader.get(), handle.data(), bytes), static_cast<ssize_t>(bytes));
  return handle;
}

void expect_that_it_ends(bool is_looked_at_before) {
  NodeControl mine(0, kRanks, {});
  mine.attach(std::array{std::string(), handle_of_rank_1(mine.handle().size())});
  const ProcessId gone = mine.process_of(1);
  if (is_looked_at_before) {
    EXPECT_EQ(mine.find_dead(1), -1);
    EXPECT_EQ(mine.living_process(1), gone.number);
  }
  end(gone.number);
  const pid_t stranger = take_number_of(gone);
  EXPECT_EQ(mine.find_dead(1), 1);
  EXPECT_EQ(mine.living_process(1), 0);
  end(stranger);
}

TEST(ReusedNumber, IsNoNeighbours) {
  for (const bool is_looked_at_before : {false, true}) {
    const auto code = in_pid_namespace([&] { expect_that_it_ends(is_looked_at_before); });
    if (!code) GTEST_SKIP() << "no PID namespaces here";
    EXPECT_EQ(code, 0) << is_looked_at_before;
  }
}

}  // namespace
}  // namespace weft::engine::reused_number_test
