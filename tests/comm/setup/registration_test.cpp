// Registrations of callers' buffers: whole, or message by message.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "weft/weft.hpp"

namespace weft::registration_test {
namespace {

constexpr int kRanks = 3;

/// Two alltoalls of the same buffers on three nodes; how many registrations there were after each.
std::string registrations(std::size_t block, std::size_t other_block = 0) {
  Options options;
  options.algorithms["alltoall"] = "isend";
  Communicator comm(tcp_bootstrap(), options);
  std::vector<std::byte> input(block * kRanks), output(block * kRanks);
  std::string said;
  for (const std::size_t bytes : {block, other_block == 0 ? block : other_block}) {
    for (int to = 0; to < kRanks; ++to) {
      std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(bytes) * to, bytes,
                  std::byte(17 * comm.rank() + to + 1));
    }
    comm.alltoall(input.data(), output.data(), bytes);
    for (int from = 0; from < kRanks; ++from) {
      const auto begin = output.begin() + static_cast<std::ptrdiff_t>(bytes) * from;
      const auto right = std::byte(17 * from + comm.rank() + 1);
      const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
      if (std::find_if(begin, end, [right](std::byte b) { return b != right; }) != end)
        return "wrong data";
    }
    said += fmt::format(" {}", comm.statistics().registrations);
  }
  if (auto other = test::other_than("isend", "alltoall", comm); !other.empty()) return other;
  return said;
}

void expect_of_all(const char* said, std::size_t block, std::size_t other_block = 0) {
  const auto body = [=](int) { return registrations(block, other_block); };
  for (const auto& end : test::run_processes(kRanks, {{"WEFT_NODES", "3"}}, body)) {
    EXPECT_EQ(end.said, said);
  }
}

TEST(Registrations, AreOneForEachBufferWhereMessagesAreMany) {
  expect_of_all(" 2 2", 1 << 20);
}

TEST(Registrations, AreOneForEachLargeMessageWhenItStarts) {
  expect_of_all(" 4 4", 4 << 20);
}

TEST(Registrations, OfPiecesDoNotCoverTheWholeBuffer) {
  expect_of_all(" 4 6", 5 << 20, 3 << 20);
}

}  // namespace
}  // namespace weft::registration_test
