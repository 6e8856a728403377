#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "nic_profiles/numbers.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles::catalogue_test {
namespace {

TEST(Catalogue, HasTheAdaptersOfThePapersAndTodays) {
  EXPECT_EQ(names(),
            (std::vector<std::string>{"connectx-5", "connectx-6", "connectx-7", "ethernet-roce",
                                      "mt25208", "mt25408", "myrinet-2000", "omni-path-100",
                                      "qle7140", "soft", "soft-roce", "t3e-900"}));
}

TEST(Catalogue, ItsFilesAreReadAndNamedAsTheySay) {
  for (const std::string& name : names()) EXPECT_EQ(load(name).name, name);
}

// Classes as the papers have them (Kumar et al., section 2; the PSM2 adapters do both).
TEST(Catalogue, HasTheClassesOfThePapers) {
  EXPECT_EQ(load("qle7140").kind, Kind::onload);
  EXPECT_EQ(load("mt25208").kind, Kind::offload_degrading);
  EXPECT_EQ(load("mt25408").kind, Kind::offload_scaling);
  EXPECT_EQ(load("omni-path-100").kind, Kind::hybrid);
}

TEST(Catalogue, EveryNumberSaysWhereItIsFrom) {
  for (const std::string& name : names()) {
    const Profile profile = load(name);
    EXPECT_EQ(profile.sources.size(), numbers().size());
    for (const auto& [path, source] : profile.sources) {
      EXPECT_GE(source.size(), 8U) << name << ": " << path;
      if (source.starts_with("calibrated")) {
        EXPECT_TRUE(source.starts_with("calibrated on ")) << name << ": " << path;
      }
    }
  }
}

TEST(Catalogue, NamesAreFoundInAnyCase) {
  EXPECT_EQ(load("QLE7140").name, "qle7140");
  EXPECT_EQ(load("ConnectX-6").name, "connectx-6");
}

TEST(Catalogue, SaysWhatItHasWhereANameIsNotThere) {
  try {
    load("qle7141");
    FAIL();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("adapter 'qle7141': not in the catalogue, which has connectx-5, "), 0U);
  }
}

TEST(Catalogue, KnowsDevicesByWhatVerbsSayOfThem) {
  EXPECT_EQ(find(0x2c9, 4119), "connectx-5");
  EXPECT_EQ(find(0x277, 1), "soft");
  EXPECT_EQ(find(0x2c9, 1), std::nullopt);
  EXPECT_EQ(find(0, 0), std::nullopt);
}

TEST(Catalogue, NoTwoEntriesClaimOneDevice) {
  for (const std::string& name : names()) {
    const DeviceId device = load(name).device;
    for (const std::uint32_t part : device.parts) EXPECT_EQ(find(device.vendor, part), name);
  }
}

TEST(Catalogue, FilesAreLoadedByPath) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("weft_profile_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << to_json(load("mt25408"));
  EXPECT_EQ(to_json(load(path.string())), to_json(load("mt25408")));
  std::filesystem::remove(path);
  EXPECT_THROW(load(path.string()), SystemError);
}

}  // namespace
}  // namespace weft::nic_profiles::catalogue_test
