// Store of probed profiles: they are found by their device.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "nic_profiles/store.hpp"

namespace weft::nic_profiles::store_test {
namespace {

class Store : public ::testing::Test {
 protected:
  Store() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-store-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    ::setenv("WEFT_PROFILES", (folder_ / "deep" / "er").c_str(), 1);
  }
  ~Store() override {
    ::unsetenv("WEFT_PROFILES");
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_;
  DeviceName device_{"mlx5_0", 0x02c9, 4123};
};

TEST_F(Store, FindsWhatItKept) {
  EXPECT_FALSE(load_probed(device_).has_value());
  Profile profile = load("connectx-6");
  profile.name = "mlx5_0";
  const std::string path = keep_probed(device_, to_json(profile));
  EXPECT_EQ(path, store_path(device_));
  const auto found = load_probed(device_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(to_json(*found), to_json(profile));
  // And nothing else is left in the folder.
  const auto files = std::filesystem::directory_iterator(store_folder());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(Store, KeepsDevicesApart) {
  keep_probed(device_, to_json(load("connectx-6")));
  DeviceName other = device_;
  other.part = 4119;  // of the same name, on another node
  EXPECT_FALSE(load_probed(other).has_value());
  other = device_;
  other.name = "mlx5_1";
  EXPECT_FALSE(load_probed(other).has_value());
}

TEST_F(Store, StaysInItsFolder) {
  device_.name = "../../../etc/passwd";
  EXPECT_EQ(std::filesystem::path(store_path(device_)).parent_path(), store_folder());
}

TEST_F(Store, NamesTheFileThatIsNoProfile) {
  const std::string path = keep_probed(device_, "{}");
  try {
    load_probed(device_);
    FAIL() << "read a profile";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string_view(error.what()).find(path), 0U) << error.what();
  }
}

TEST_F(Store, SaysWhereItCannotWrite) {
  ::setenv("WEFT_PROFILES", "/proc/weft", 1);
  EXPECT_THROW(keep_probed(device_, "{}"), SystemError);
}

}  // namespace
}  // namespace weft::nic_profiles::store_test
