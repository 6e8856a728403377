#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/error.hpp"

namespace weft::settings_test {
namespace {

TEST(NamedSettings, AreTakenApart) {
  const auto chosen = parse_named_settings("thing", "name:a=1,b=,c=x=y");
  EXPECT_EQ(chosen.name, "name");
  ASSERT_EQ(chosen.settings.size(), 3u);
  EXPECT_EQ(chosen.settings[0].key, "a");
  EXPECT_EQ(chosen.settings[0].value, "1");
  EXPECT_EQ(chosen.settings[1].value, "");
  EXPECT_EQ(chosen.settings[2].value, "x=y");
  EXPECT_TRUE(chosen.has("b"));
  EXPECT_FALSE(chosen.has("d"));
  EXPECT_TRUE(parse_named_settings("thing", "name").settings.empty());
}

TEST(NamedSettings, AreRefusedWithTheText) {
  const auto error = [](std::string_view text) -> std::string {
    try {
      parse_named_settings("thing", text);
    } catch (const UsageError& refused) {
      return refused.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("name:a"), "thing 'name:a': 'a' is not of the form parameter=value");
  EXPECT_EQ(error("name:"), "thing 'name:': '' is not of the form parameter=value");
  EXPECT_EQ(error("name:a=1,"), "thing 'name:a=1,': '' is not of the form parameter=value");
  EXPECT_EQ(error("name:a=1,a=2"), "thing 'name:a=1,a=2': parameter 'a' is there twice");
}

TEST(NamedSettings, EntriesAreFoundByName) {
  struct Entry {
    std::string_view name;
  };
  constexpr std::array kTable = {Entry{"one"}, Entry{"two"}};
  EXPECT_EQ(find_by_name(kTable, "two"), &kTable[1]);
  EXPECT_EQ(find_by_name(kTable, "three"), nullptr);
  EXPECT_EQ(names_of(kTable), "one, two");
}

}  // namespace
}  // namespace weft::settings_test
