// What a tuning takes from a recording.
#include "cli/tune/recorded_sizes.hpp"

#include <gtest/gtest.h>

namespace weft::cli::recorded_sizes_test {
namespace {

using plan::Collective;

/// A kind on a communicator, and its calls.
void add(mpi::RankRecording& part, std::uint32_t in, Collective collective, std::uint64_t bytes,
         std::uint64_t calls) {
  mpi::RecordedKind kind;
  kind.communicator = in;
  kind.collective = collective;
  kind.sized = true;
  kind.bytes = bytes;
  part.kinds.push_back(kind);
  part.sums.push_back({calls, 0});
}

mpi::Recording recording() {
  mpi::Recording all;
  all.ranks = 2;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    mpi::RankRecording part;
    part.rank = rank;
    part.communicators.resize(2);
    part.communicators[0].ranks = 2;
    part.communicators[1].ranks = 1;
    add(part, 0, Collective::alltoall, 3000, 10);
    add(part, 0, Collective::alltoall, 4096, 20);
    add(part, 0, Collective::alltoall, 4097, 1);
    add(part, 0, Collective::barrier, 0, 4 + 2 * rank);
    add(part, 1, Collective::broadcast, 8, 100);
    add(part, 0, Collective::alltoallv, 8, 100);
    add(part, 0, Collective::gather, 8, 100);
    part.kinds.back().irregular = true;
    add(part, 0, Collective::scatter, 8, 100);
    part.kinds.back().sized = false;
    all.parts.push_back(part);
  }
  return all;
}

TEST(RecordedSizes, AreThoseOfCallsThatTablesDecide) {
  const RecordedSizes expected = {{Collective::alltoall, {{4096, 30}, {4097, 1}}},
                                  {Collective::barrier, {{0, 5}}}};
  EXPECT_EQ(recorded_sizes(recording(), 2), expected);
  const RecordedSizes alone = {{Collective::broadcast, {{8, 100}}}};
  EXPECT_EQ(recorded_sizes(recording(), 1), alone);
  EXPECT_TRUE(recorded_sizes(recording(), 3).empty());
}

}  // namespace
}  // namespace weft::cli::recorded_sizes_test
