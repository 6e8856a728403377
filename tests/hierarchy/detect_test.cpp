#include "hierarchy/detect.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "hierarchy/domains.hpp"

namespace weft::hierarchy::detect_test {
namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Detect, ProcessesOfOneHostHaveOneIdentity) {
  const std::string here = host_identity();
  EXPECT_GT(here.size(), 36u);  // a boot id and more
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(host_identity() == here ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Detect, RanksBoundToOneCoreEachMayUseAllOfThese) {
  const std::string none(128, '\0');
  std::string first = none, second = none;
  first[0] = 1;
  second[0] = 2;
  EXPECT_EQ(usable_cores(std::vector{first}), 1);
  EXPECT_EQ(usable_cores(std::vector{first, first}), 1);
  EXPECT_EQ(usable_cores(std::vector{first, second}), std::min(2, usable_cores()));
}

TEST(Detect, UsableCoresFollowTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Detect, DescribesTheTopologyInOneLine) {
  const std::string line = describe_topology();
  EXPECT_NE(line.find("core"), line.npos);
  EXPECT_EQ(line.find('\n'), line.npos);
}

/// A folder that looks like one of the kernel's.
class KernelFiles : public testing::Test {
 protected:
  KernelFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-kernel-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw_errno("mkdtemp");
    mount_ = name;
  }
  ~KernelFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(mount_, ignored);
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text;
  }

  std::filesystem::path mount_;
};

using Cgroup = KernelFiles;

TEST_F(Cgroup, HasNoLimitWhereNoFileSetsOne) {
  EXPECT_EQ(cgroup_cores(mount_, ""), std::nullopt);
  EXPECT_EQ(cgroup_cores(mount_, "0::/\n"), std::nullopt);
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "0::/\n"), std::nullopt);
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "3:cpu:/\n0::/\n"), std::nullopt);
  EXPECT_EQ(cgroup_cores(mount_, "garbage\n:::\n::\n"), std::nullopt);
}

TEST_F(Cgroup, RoundsVersion2Up) {
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "0::/a/b\n"), 2);
  write("a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "0::/a/b\n"), 1);
}

TEST_F(Cgroup, TheSmallestOfAllGroupsAboveCounts) {
  write("a/cpu.max", "200000 100000\n");
  write("a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "0::/a/b\n"), 2);
}

TEST_F(Cgroup, ReadsVersion1UnderAnyOfItsNames) {
  write("cpu,cpuacct/x/cpu.cfs_quota_us", "300000");
  write("cpu,cpuacct/x/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cgroup_cores(mount_, "4:cpu,cpuacct:/x\n"), 3);
  EXPECT_EQ(cgroup_cores(mount_, "4:cpuset:/x\n"), std::nullopt);
}

TEST_F(Cgroup, AContainerSeesItsOwnGroupAsTheRoot) {
  write("cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cores(mount_, "0::/only/the/host/knows\n"), 4);
}

TEST(MachineFrom, NumbersHostsInOrderOfAppearance) {
  const std::vector<std::string> identities = {"b", "a", "b", "c"};
  EXPECT_EQ(machine_from(identities), Machine({0, 1, 0, 2}));
}

RC_GTEST_PROP(VirtualNodes, ANumberSplitsEveryNodeEvenly, ()) {
  const auto sizes =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 9)));
  const Machine real = Machine::uneven(sizes);
  const int fewest = *std::ranges::min_element(sizes);
  const int blocks = *rc::gen::inRange(1, fewest + 1);
  const Machine split = with_virtual_nodes(real, std::to_string(blocks));
  RC_ASSERT(split.nodes() == real.nodes() * blocks);
  for (int node = 0; node < split.nodes(); ++node) {
    const auto ranks = split.ranks_on(node);
    const int whole = real.ranks_on_node_of(ranks.front());
    const int place = node % blocks;
    RC_ASSERT(static_cast<int>(ranks.size()) == whole / blocks + (place < whole % blocks));
    for (const int rank : ranks) RC_ASSERT(real.node_of(rank) == node / blocks);
  }
}

TEST(VirtualNodes, TakesAnyPlacementThatOnlySplits) {
  const Machine real = Machine::uniform(1, 8);
  EXPECT_EQ(with_virtual_nodes(real, "1+3+4"), Machine::parse("1+3+4"));
  EXPECT_EQ(with_virtual_nodes(real, "2x4:cyclic"), Machine::cyclic(2, 4));
  EXPECT_EQ(with_virtual_nodes(Machine::uniform(2, 2), "0,2,1,1"), Machine({0, 2, 1, 1}));
}

TEST(VirtualNodes, LeavesWhatCannotBeSplit) {
  const Machine uneven = Machine::parse("4+2");
  EXPECT_EQ(with_virtual_nodes(uneven, "3"), uneven);
  EXPECT_EQ(with_virtual_nodes(uneven, "2").nodes(), 4);
  const Machine alone = Machine::uniform(1, 1);
  for (const char* any : {"2", "3x4", "1+3+4"}) EXPECT_EQ(with_virtual_nodes(alone, any), alone);
}

TEST(VirtualNodes, RefusesImpossiblePlacements) {
  const Machine real = Machine::uniform(2, 4);
  const auto number_error = [](std::string_view value) {
    return "WEFT_NODES=" + std::string(value) +
           ": not a whole number from 1 to 1000000, nor a machine such as 3x4, 3x4:cyclic, 1+3+4 "
           "or 0,1,0,1";
  };
  for (const char* bad : {"", "0", "-1", "two", "2 ", "99999999999999999999"}) {
    EXPECT_EQ(error_of([&] { with_virtual_nodes(real, bad); }), number_error(bad));
  }
  EXPECT_EQ(error_of([&] { with_virtual_nodes(real, "3x4"); }),
            "WEFT_NODES=3x4: places 12 ranks, but there are 8");
  EXPECT_EQ(error_of([&] { with_virtual_nodes(real, "3+5"); }),
            "WEFT_NODES=3+5: joins ranks 3 and 4, which run on different nodes: it may only split "
            "nodes");
  EXPECT_EQ(error_of([&] { with_virtual_nodes(real, "2x4:even"); }),
            "WEFT_NODES=2x4:even: machine '2x4:even': not NODESxRANKS (3x4), NODESxRANKS:cyclic, "
            "NODESxSOCKETSxRANKS (3x2x4), ranks a node joined by + (1+3+4), or the node of each "
            "rank (0,1,0,1) without gaps, of at most 1048576 ranks; behind any of these the "
            "sockets of a node: /2 (in blocks), /2:cyclic, or /0,0,1,1 (of each rank)");
}

TEST(VirtualNodes, KeepTheSocketsUnlessTheyBringTheirOwn) {
  const Machine real = Machine::parse("1x8/4");
  EXPECT_EQ(with_virtual_nodes(real, "2"), Machine::parse("2x2x2"));
  EXPECT_EQ(with_virtual_nodes(real, "3+5"), Machine::parse("3+5/0,0,1,0,1,1,2,2"));
  EXPECT_EQ(with_virtual_nodes(real, "2x4/4"), Machine::parse("2x4x1"));
}

TEST(Sockets, AreTheCachesOrElseThePackagesThatAllRanksOfANodeRunIn) {
  const auto found = [](std::vector<std::string> identities) {
    return with_sockets(Machine::uniform(2, 4), identities);
  };
  EXPECT_EQ(found({"0 0", "0 0", "1 1", "1 1", "0 0", "1 1", "0 0", "1 1"}),
            Machine::parse("2x4/0,0,1,1,0,1,0,1"));
  // Several caches in a socket.
  EXPECT_EQ(found({"0 0", "0 1", "1 2", "1 3", "0 0", "0 0", "0 0", "0 0"}),
            Machine::parse("2x4/0,1,2,3,0,0,0,0"));
  // One rank of the first node is bound to its socket alone, one of the second to none.
  EXPECT_EQ(found({"0 0", "0 -1", "1 2", "1 3", "0 0", "-1 -1", "1 2", "1 3"}),
            Machine::parse("2x4/0,0,1,1,0,0,0,0"));
  // The same numbers on another node say nothing; nor do words.
  EXPECT_EQ(found({"0 0", "0 0", "0 0", "0 0", "1 1", "1 1", "1 1", "1 1"}),
            Machine::uniform(2, 4));
  EXPECT_EQ(found({"", "0", "x y", "0 0", "0 0", "0 0", "0 0", "0 0"}), Machine::uniform(2, 4));
}

TEST(Sockets, OfARankThatMayRunAnywhereAreUnknown) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) == sysconf(_SC_NPROCESSORS_ONLN)) {
    EXPECT_EQ(socket_identity(), "-1 -1");
  }
  if (sysconf(_SC_NPROCESSORS_ONLN) == 1) return;  // bound is unbound
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_NE(socket_identity().substr(0, 2), "-1");
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

/// Two packages of eight CPUs, numbered in turns as hardware threads are, each of two caches.
class Socket : public KernelFiles {
 protected:
  Socket() {
    for (int cpu = 0; cpu < 16; ++cpu) {
      const int package = cpu / 4 % 2;
      const int cache = cpu / 2 % 2;
      const int first = package * 4 + cache * 2;
      write(cpu, "topology/core_siblings_list", package == 0 ? "0-3,8-11" : "4-7,12-15");
      write(cpu, "cache/index0/level", "1");
      write(cpu, "cache/index0/shared_cpu_list", std::to_string(cpu));
      write(cpu, "cache/index1/level", "3");
      write(cpu, "cache/index1/shared_cpu_list",
            fmt::format("{}-{},{}-{}", first, first + 1, first + 8, first + 9));
    }
  }
  std::string of(std::initializer_list<int> cpus) const {
    std::string mask(8, '\0');
    for (const int cpu : cpus) mask[cpu / 8] = static_cast<char>(mask[cpu / 8] | 1 << cpu % 8);
    return socket_identity(mount_, mask);
  }
  void write(int cpu, const std::string& file, const std::string& text) const {
    KernelFiles::write(fmt::format("cpu{}/{}", cpu, file), text + "\n");
  }
};

TEST_F(Socket, IsTheFirstCpuOfThoseThatShareIt) {
  EXPECT_EQ(of({0}), "0 0");
  EXPECT_EQ(of({11}), "0 2");
  EXPECT_EQ(of({4, 13}), "4 4");
  EXPECT_EQ(of({6, 7, 14, 15}), "4 6");
}

TEST_F(Socket, IsUnknownOfWhatRunsInSeveral) {
  EXPECT_EQ(of({0, 2}), "0 -1");
  EXPECT_EQ(of({5, 14}), "4 -1");
  EXPECT_EQ(of({3, 4}), "-1 -1");
  EXPECT_EQ(of({}), "-1 -1");
  EXPECT_EQ(of({20}), "-1 -1");
}

TEST_F(Socket, IsUnknownWhereTheKernelSaysNothingThatCanBeRead) {
  for (const char* bad : {"", "x", "0-", "3-0", "0;8", "1-3,8-11", "0-3,,8", "-1"}) {
    write(0, "topology/core_siblings_list", bad);
    EXPECT_EQ(of({0}), "-1 0") << bad;
  }
  write(0, "cache/index1/level", "2");
  EXPECT_EQ(of({0}), "-1 -1");
}

TEST(VirtualSockets, DivideEveryNode) {
  const Machine real = Machine::parse("4+1+3");
  EXPECT_EQ(with_virtual_sockets(real, "2"), Machine::parse("4+1+3/2"));
  EXPECT_EQ(with_virtual_sockets(real, "3:cyclic"), Machine::parse("4+1+3/3:cyclic"));
  EXPECT_EQ(with_virtual_sockets(real, "0,1,1,0,0,0,0,1"), Machine::parse("4+1+3/0,1,1,0,0,0,0,1"));
  EXPECT_EQ(with_virtual_sockets(Machine::parse("2x2x2"), "1"), Machine::uniform(2, 4));
  for (const char* bad : {"", "0", "-1", "two", "2:", "2:block", "0,1", "0,1,1,0,0,0,0,x"}) {
    EXPECT_EQ(error_of([&] { with_virtual_sockets(real, bad); }),
              "WEFT_SOCKETS=" + std::string(bad) +
                  ": not a whole number from 1 to 1048576 (sockets of a node, in blocks), nor one "
                  "with :cyclic, nor the socket of each of 8 ranks such as 0,0,1,1");
  }
}

}  // namespace
}  // namespace weft::hierarchy::detect_test
