// Shared memory: its pages lie on the NUMA node of the process that makes it.
#include "engine/node/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace weft::engine::shared_memory_test {
namespace {

/// The NUMA node of each page; negative: an errno, as of a page that is not there.
std::vector<int> nodes_of(const SharedMemory& segment) {
  constexpr std::size_t kPage = 4096;
  std::vector<void*> pages;
  for (std::size_t at = 0; at < segment.size(); at += kPage) pages.push_back(segment.data() + at);
  std::vector<int> nodes(pages.size(), -EINVAL);
  const long asked =
      ::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0);
  return asked == 0 ? nodes : std::vector<int>{};
}

// The maker reads what others put there (signals, inboxes) or writes what they read (stages): see
// docs/decisions.md. Either way the pages are taken when it makes them, and not by who comes first.
TEST(SharedMemory, LiesOnTheNumaNodeOfItsMaker) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    unsigned node = 0;
    ASSERT_EQ(::syscall(SYS_getcpu, nullptr, &node, nullptr), 0);
    const SharedMemory made = SharedMemory::create("weft-test", 300'000);
    // Another comes, and touches every page first.
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
    const SharedMemory attached = SharedMemory::attach(made.handle());
    for (std::size_t at = 0; at < attached.size(); at += 4096) attached.data()[at] = std::byte{1};
    const auto nodes = nodes_of(attached);
    if (nodes.empty()) GTEST_SKIP() << "the kernel does not say where pages are";
    EXPECT_EQ(nodes, std::vector<int>(nodes.size(), static_cast<int>(node))) << "cpu " << cpu;
  }
}

}  // namespace
}  // namespace weft::engine::shared_memory_test
