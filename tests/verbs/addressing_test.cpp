// Addressing: the GID and P_Key of a port's connections, over tables that adapters could have.
#include "verbs/device/addressing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"

namespace weft::verbs::addressing_test {
namespace {

GidEntry entry(int index, GidType type, GidFamily family, bool link_local = false) {
  GidEntry result{index, {}, type};
  result.gid.raw[15] = static_cast<std::uint8_t>(index + 1);
  if (family == GidFamily::ipv4) {
    result.gid.raw[10] = result.gid.raw[11] = 0xff;
    result.gid.raw[12] = 10;
  } else {
    result.gid.raw[0] = link_local ? 0xfe : 0x20;
    result.gid.raw[1] = link_local ? 0x80 : 0x01;
  }
  return result;
}

std::vector<GidEntry> any_table() {
  std::vector<GidEntry> table;
  int index = 0;
  const int entries = *rc::gen::inRange(0, 9);
  for (int i = 0; i < entries; ++i) {
    index += *rc::gen::inRange(1, 3);
    const auto type = *rc::gen::element(GidType::roce_v1, GidType::roce_v2, GidType::unknown);
    const auto family = *rc::gen::element(GidFamily::ipv4, GidFamily::ipv6);
    table.push_back(entry(index, type, family, *rc::gen::arbitrary<bool>()));
  }
  return table;
}

RC_GTEST_PROP(Gid, IsTheBestThatTheSettingsAllow, ()) {
  const auto table = any_table();
  PortSettings settings;
  settings.gid_type = *rc::gen::element(GidType::unknown, GidType::roce_v1, GidType::roce_v2);
  settings.gid_family = *rc::gen::element(GidFamily::unknown, GidFamily::ipv4, GidFamily::ipv6);
  const auto allowed = [&](const GidEntry& one) {
    return (settings.gid_type == GidType::unknown || one.type == settings.gid_type) &&
           (settings.gid_family == GidFamily::unknown || one.family() == settings.gid_family);
  };
  const bool any_wish =
      settings.gid_type != GidType::unknown || settings.gid_family != GidFamily::unknown;
  if (std::ranges::none_of(table, allowed)) {
    if (any_wish) {
      RC_ASSERT_THROWS_AS(choose_gid(table, settings, true, "port"), UsageError);
    } else {
      RC_ASSERT(choose_gid(table, settings, true, "port").index == -1);
    }
    return;
  }
  const GidEntry chosen = choose_gid(table, settings, true, "port");
  RC_ASSERT(allowed(chosen));
  for (const GidEntry& other : table) {
    if (!allowed(other)) continue;
    RC_ASSERT(chosen.type == GidType::roce_v2 || other.type != GidType::roce_v2);
    const bool same_type = (chosen.type == GidType::roce_v2) == (other.type == GidType::roce_v2);
    if (!same_type) continue;
    RC_ASSERT(chosen.family() == GidFamily::ipv4 || other.family() != GidFamily::ipv4);
  }
}

RC_GTEST_PROP(Gid, IsTheEntryOfTheIndexOrRefused, ()) {
  const auto table = any_table();
  PortSettings settings;
  settings.gid_index = *rc::gen::inRange(0, 12);
  settings.gid_type = GidType::roce_v2;  // the index decides alone
  const bool there = std::ranges::any_of(
      table, [&](const GidEntry& one) { return one.index == *settings.gid_index; });
  if (there) {
    RC_ASSERT(choose_gid(table, settings, true, "port").index == *settings.gid_index);
  } else {
    RC_ASSERT_THROWS_AS(choose_gid(table, settings, true, "port"), UsageError);
  }
}

TEST(Gid, ThatCanBeRoutedComesBeforeLinkLocal) {
  const std::vector<GidEntry> table = {entry(0, GidType::roce_v2, GidFamily::ipv6, true),
                                       entry(3, GidType::roce_v2, GidFamily::ipv6)};
  EXPECT_EQ(choose_gid(table, {}, true, "port").index, 3);
}

TEST(Gid, OnInfiniBandIsTheFirst) {
  const std::vector<GidEntry> table = {entry(0, GidType::infiniband, GidFamily::ipv6, true),
                                       entry(1, GidType::infiniband, GidFamily::ipv6)};
  EXPECT_EQ(choose_gid(table, {}, false, "port").index, 0);
}

TEST(Gid, ThatIsMissingIsRefusedWithAListOfThoseThatExist) {
  const std::vector<GidEntry> table = {entry(2, GidType::roce_v1, GidFamily::ipv4)};
  PortSettings settings;
  settings.gid_type = GidType::roce_v2;
  try {
    choose_gid(table, settings, true, "mlx5_0 port 1");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "WEFT_GID_TYPE=roce-v2: mlx5_0 port 1 has no such GID; there are: 2 10.0.0.3 "
                 "(RoCE v1)");
  }
}

RC_GTEST_PROP(Partition, IsTheNamedOneElseAFullMemberWhereThereIsOne,
              (std::vector<std::uint16_t> keys)) {
  const int chosen = choose_partition(keys, {}, "port");
  const bool any_full = std::ranges::any_of(keys, [](auto key) { return key >= 0x8000; });
  RC_ASSERT(chosen >= 0);
  if (any_full) RC_ASSERT(keys.at(chosen) >= 0x8000);

  PortSettings settings;
  settings.partition = static_cast<std::uint16_t>(*rc::gen::inRange(1, 0x8000) |
                                                  (*rc::gen::arbitrary<bool>() ? 0x8000 : 0));
  if (!keys.empty() && *rc::gen::arbitrary<bool>()) settings.partition = keys[0];
  // Either membership of the partition will do: the fabric gave it.
  const bool there = std::ranges::any_of(
      keys, [&](auto key) { return key != 0 && (key & 0x7fff) == (*settings.partition & 0x7fff); });
  if (there) {
    const auto key = keys.at(choose_partition(keys, settings, "port"));
    RC_ASSERT((key & 0x7fff) == (*settings.partition & 0x7fff));
  } else {
    RC_ASSERT_THROWS_AS(choose_partition(keys, settings, "port"), UsageError);
  }
}

/// Sets a variable for a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(PortSettings, AreReadOrRefusedByName) {
  const std::pair<const char*, const char*> wrong[] = {
      {"WEFT_DEVICE", "mlx5_0:"},   {"WEFT_DEVICE", "mlx5_0:0"},   {"WEFT_DEVICE", ":1"},
      {"WEFT_DEVICE", "mlx5_0:1x"}, {"WEFT_DEVICE", "mlx5_0,"},    {"WEFT_DEVICE", "a:1,,b"},
      {"WEFT_GID_INDEX", "-1"},     {"WEFT_GID_TYPE", "roce"},     {"WEFT_GID_FAMILY", "4"},
      {"WEFT_PKEY", "8001"},        {"WEFT_PKEY", "0x8000"},       {"WEFT_PKEY", "0x0"},
      {"WEFT_PKEY", "0x1ffff"},     {"WEFT_MTU", "1500"},          {"WEFT_MTU", "8192"},
      {"WEFT_SERVICE_LEVEL", "16"}, {"WEFT_TRAFFIC_CLASS", "256"}, {"WEFT_RC_TIMEOUT", "0"},
      {"WEFT_RC_TIMEOUT", "32"},    {"WEFT_RC_RETRY", "8"},
  };
  for (const auto& [name, value] : wrong) {
    const Variable set(name, value);
    try {
      PortSettings::from_environment();
      ADD_FAILURE() << name << "=" << value;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find(std::string(name) + "=" + value), 0U)
          << error.what();
    }
  }
  const Variable device("WEFT_DEVICE", "mlx5_0:2,mlx5_1");
  const Variable key("WEFT_PKEY", "0x8001");
  const Variable type("WEFT_GID_TYPE", "roce-v1");
  const Variable mtu("WEFT_MTU", "1024");
  const PortSettings settings = PortSettings::from_environment();
  EXPECT_EQ(settings.ports, (std::vector<PortName>{{"mlx5_0", 2}, {"mlx5_1", 0}}));
  EXPECT_EQ(settings.partition, 0x8001);
  EXPECT_EQ(settings.gid_type, GidType::roce_v1);
  EXPECT_EQ(settings.mtu_bytes, 1024);
}

}  // namespace
}  // namespace weft::verbs::addressing_test
