// Distances of rails: over trees of files such as kernels have in /sys.
#include "verbs/connection/port_choice.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace weft::verbs::numa_test {
namespace {

namespace fs = std::filesystem;

class Sysfs {
 public:
  Sysfs() {
    std::string name = (fs::temp_directory_path() / "weft-sysfs-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Sysfs() { fs::remove_all(root_); }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST(Numa, IsReadFromSysfs) {
  Sysfs system;
  system.write("class/infiniband/mlx5_0/device/numa_node", "1");
  system.write("class/infiniband/rxe0/device/numa_node", "-1");
  system.write("devices/system/node/node0/distance", "10 21 31");
  system.write("devices/system/node/node2/distance", "31 21 10");
  EXPECT_EQ(numa_node_of_device("mlx5_0", system.root()), 1);
  EXPECT_EQ(numa_node_of_device("rxe0", system.root()), -1);
  EXPECT_EQ(numa_node_of_device("none", system.root()), -1);
  EXPECT_EQ(numa_distance(0, 1, system.root()), 21);
  EXPECT_EQ(numa_distance(0, 2, system.root()), 31);
  EXPECT_EQ(numa_distance(2, 0, system.root()), 31);
  EXPECT_EQ(numa_distance(0, 0, system.root()), 10);
  // An unknown distance counts as near.
  EXPECT_EQ(numa_distance(-1, 1, system.root()), 10);
  EXPECT_EQ(numa_distance(0, -1, system.root()), 10);
  EXPECT_EQ(numa_distance(0, 7, system.root()), 10);
}

RC_GTEST_PROP(Numa, NearestComesFirstAndEqualsTakeTurns, ()) {
  const auto distances =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::element(10, 12, 21, 31)));
  std::set<std::size_t> first;
  for (int turn = 0; turn < static_cast<int>(distances.size()); ++turn) {
    const auto order = nearest_first(distances, turn);
    RC_ASSERT(std::set<std::size_t>(order.begin(), order.end()).size() == distances.size());
    RC_ASSERT(std::ranges::is_sorted(order, {}, [&](auto i) { return distances.at(i); }));
    first.insert(order.front());
  }
  const int least = *std::ranges::min_element(distances);
  RC_ASSERT(first.size() == static_cast<std::size_t>(std::ranges::count(distances, least)));
}

}  // namespace
}  // namespace weft::verbs::numa_test
