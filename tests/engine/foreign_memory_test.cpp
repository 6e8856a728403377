// Memory that a neighbour offers and that is smaller than what is to be reached in it: refused
// before any of it is touched.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/node/node_control.hpp"
#include "engine/node/shm_wire.hpp"
#include "engine/node/stages.hpp"

namespace weft::engine::foreign_memory_test {
namespace {

const std::vector<int> kRanks = {0, 1};

TEST(ForeignMemory, OfANodesControlHasRoomForAllItsRanks) {
  NodeControl mine(0, kRanks, {});
  NodeControl theirs(1, kRanks, {});
  const std::string good = theirs.handle();
  const SharedMemory small = SharedMemory::create("weft-test", 4096);
  const std::string heap = good.substr(0, good.size() - SharedMemory::handle_bytes());
  EXPECT_THROW(mine.attach(std::array{std::string(), heap + small.handle()}), Error);
  mine.attach(std::array{std::string(), good});
}

TEST(ForeignMemory, OfAStageHasBothHalves) {
  Stages mine(0, 2, 64 << 10, MemoryUse::node);
  const Stages smaller(1, 2, 32 << 10, MemoryUse::node);
  const Stages alike(1, 2, 64 << 10, MemoryUse::node);
  EXPECT_THROW(mine.attach(std::array{std::string(), smaller.handle()}), Error);
  mine.attach(std::array{std::string(), alike.handle()});
}

TEST(ForeignMemory, OfAWireHasAWholeInboxWhereItIsSaidToBe) {
  for (const bool any_crowded : {false, true}) {
    NodeControl node(0, kRanks, {.crowded = any_crowded, .any_crowded = any_crowded});
    const std::size_t bytes = ShmWire::inbox_bytes(node);
    EXPECT_EQ(bytes > verbs::kInboxBytes, any_crowded);  // has a long ring
    const SharedMemory mine = SharedMemory::create("weft-test", bytes);
    const SharedMemory theirs = SharedMemory::create("weft-test", 8 * bytes);
    const std::size_t last = (theirs.size() - bytes) / 64 * 64;
    const ShmWire wire(node, 1, mine, 0, theirs, last);
    for (const std::size_t offset : {last + 64, theirs.size(), SIZE_MAX - 63, last - 8}) {
      EXPECT_THROW(ShmWire(node, 1, mine, 0, theirs, offset), Error) << offset;
    }
  }
}

}  // namespace
}  // namespace weft::engine::foreign_memory_test
