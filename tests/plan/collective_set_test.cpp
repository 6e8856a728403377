#include "plan/collective_set.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include <fmt/format.h>

#include "base/error.hpp"

namespace weft::plan::collective_set_test {
namespace {

CollectiveSet parsed(std::string_view text) {
  return CollectiveSet::parse("WEFT_DISABLE", text);
}

TEST(CollectiveSet, AFlagMeansAllOrNone) {
  for (const auto* yes : {"1", "yes", "on", "true"}) EXPECT_EQ(parsed(yes), CollectiveSet::all());
  for (const auto* no : {"0", "no", "off", "false"}) EXPECT_EQ(parsed(no), CollectiveSet());
}

RC_GTEST_PROP(CollectiveSet, NamesMeanThoseAndNoOthers, ()) {
  std::string text;
  CollectiveSet expected;
  for (const Collective collective : all_collectives()) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    if (!text.empty()) text += ',';
    text += to_string(collective);
    expected.insert(collective);
  }
  RC_PRE(!text.empty());
  const CollectiveSet set = parsed(text);
  RC_ASSERT(set == expected);
  for (const Collective collective : all_collectives()) {
    RC_ASSERT(set.contains(collective) ==
              (fmt::format(",{},", text).find(fmt::format(",{},", to_string(collective))) !=
               std::string::npos));
  }
}

TEST(CollectiveSet, OthersAreRefusedByName) {
  for (const std::string text : {"maybe", "reduce,", ",reduce", "reduce,,scan", "reduce, scan"}) {
    try {
      parsed(text);
      FAIL() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find("WEFT_DISABLE=" + text + ": '"), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find("allreduce"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::plan::collective_set_test
