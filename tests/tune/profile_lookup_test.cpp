// Profile lookup: what a probe has kept is found, and whether that probe looked at other programs.
#include "tune/profile_lookup.hpp"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace weft::tune::profile_lookup_test {
namespace {

TEST(ProfileLookup, SaysWhetherTheProbeLookedAtOtherPrograms) {
  std::string folder = (std::filesystem::temp_directory_path() / "weft-lookup-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ::setenv("WEFT_PROFILES", folder.c_str(), 1);
  const nic_profiles::DeviceName device{"mlx5_0", 0x02c9, 4123};
  const auto origin = [&] { return find_profile("", [&] { return device; })->origin; };
  EXPECT_EQ(origin(), "catalogue");
  nic_profiles::Profile profile = nic_profiles::load("connectx-6");
  nic_profiles::keep_probed(device, to_json(profile));
  EXPECT_EQ(origin(), "probed without a look at other programs");
  profile.intervals["node.signal_ns"] = {70, 90};
  nic_profiles::keep_probed(device, to_json(profile));
  EXPECT_EQ(origin(), "probed");
  // Of another version, or damaged: programs run by the catalogue, and say so.
  nic_profiles::keep_probed(device, "{\"a later key\": 1}");
  EXPECT_EQ(origin().find("catalogue, as the kept profile cannot be used: "), 0u) << origin();
  ::unsetenv("WEFT_PROFILES");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::tune::profile_lookup_test
