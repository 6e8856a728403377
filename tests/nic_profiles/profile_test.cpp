#include "nic_profiles/profile.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "any_profile.hpp"
#include "base/error.hpp"

namespace weft::nic_profiles::profile_test {
namespace {

using Json = nlohmann::ordered_json;

std::string error_of(const std::string& text) {
  try {
    parse("file.json", text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string error_after(void (*change)(Json&)) {
  Json json = Json::parse(to_json(load("qle7140")));
  change(json);
  return error_of(json.dump());
}

TEST(Profile, ErrorsNameFilePathValueAndWhatIsAllowed) {
  EXPECT_EQ(error_after([](Json& json) { json["adapter"]["post_ns"]["value"] = -3; }),
            "file.json: adapter.post_ns.value = -3: must be a number from 0 to 1000000000");
  EXPECT_EQ(error_after([](Json& json) { json["adapter"]["pio_bytes"]["value"] = "some"; }),
            "file.json: adapter.pio_bytes.value = \"some\": must be a whole number from 0 to "
            "1000000000000000, or \"all\"");
  EXPECT_EQ(error_after([](Json& json) { json["node"]["cache_bytes"]["value"] = 1.5; }),
            "file.json: node.cache_bytes.value = 1.5: must be a whole number from 0 to "
            "1000000000000000");
  EXPECT_EQ(error_after([](Json& json) { json["adapter"]["in_order_placement"]["value"] = 1; }),
            "file.json: adapter.in_order_placement.value = 1: must be true or false");
  EXPECT_EQ(error_after([](Json& json) { json["adapter"].erase("post_ns"); }),
            "file.json: adapter.post_ns: is missing");
  EXPECT_EQ(error_after([](Json& json) { json["fabric"]["hop_ns"]["source"] = ""; }),
            "file.json: fabric.hop_ns.source = \"\": must be a text that is not empty");
  EXPECT_EQ(error_after([](Json& json) { json["class"] = "fast"; }),
            "file.json: class = \"fast\": must be one of onload, offload-degrading, "
            "offload-scaling, hybrid");
  EXPECT_EQ(error_after([](Json& json) { json["schema"] = 2; }),
            "file.json: schema = 2: this weft reads schema 1 only");
  EXPECT_EQ(error_of("[]"), "file.json: must be a JSON object");
  EXPECT_NE(error_of("{").find("file.json: no JSON: "), std::string::npos);
}

TEST(Profile, MayLeaveOutWhoSharesCores) {
  Json json = Json::parse(to_json(load("qle7140")));
  json.erase("host");
  const Profile read = parse("text", json.dump());
  EXPECT_EQ(read.hardware.host.cores, 0);
  EXPECT_EQ(read.sources.at("host.cores"), "not said: a core for each rank");
  json = Json::parse(to_json(read));
  json["host"].erase("nodes");
  EXPECT_EQ(error_of(json.dump()), "file.json: host.nodes: is missing");
}

TEST(Profile, MayLeaveOutSomeNumbersAlone) {
  Json json = Json::parse(to_json(load("soft")));
  json["adapter"].erase("receiver_first");
  json["node"].erase("call_ns");
  const Profile read = parse("text", json.dump());
  EXPECT_FALSE(read.hardware.adapter.receiver_first);
  EXPECT_EQ(read.sources.at("adapter.receiver_first"),
            "not said: a sender asks its receiver first");
  EXPECT_EQ(read.hardware.node.call_ns, 0);
  EXPECT_GT(read.hardware.node.call_bytes_per_ns, 0);
  json["node"].erase("signal_ns");
  EXPECT_EQ(error_of(json.dump()), "file.json: node.signal_ns: is missing");
}

TEST(Profile, RefusesUnknownKeysAndKeysThatAreThereTwice) {
  const std::string unknown =
      error_after([](Json& json) { json["node"]["copy_start"] = json["node"]["copy_start_ns"]; });
  EXPECT_EQ(unknown.find("file.json: node.copy_start: unknown; here are allowed: copy_start_ns, "),
            0U)
      << unknown;
  EXPECT_EQ(error_of(R"({"schema": 1, "name": "a", "name": "b"})"),
            "file.json: name: is there twice");
}

TEST(Profile, RefusesScalingsThatDoNotStartAtOneSenderOrDoNotAscend) {
  for (const char* points : {"[]", "[[2, 1]]", "[[1, 2]]", "[[1, 1], [1, 2]]", "[[1, 1], [2]]",
                             "[[1, 1], [2, 0]]", "3"}) {
    Json json = Json::parse(to_json(load("qle7140")));
    json["adapter"]["senders"]["value"] = Json::parse(points);
    EXPECT_NE(error_of(json.dump()).find("file.json: adapter.senders.value"), std::string::npos)
        << points;
  }
}

RC_GTEST_PROP(Profile, ReadsBackWhatItWrites, ()) {
  const Profile profile = *any_allowed_profile();
  const std::string text = to_json(profile);
  const Profile read = parse("text", text);
  RC_ASSERT(to_json(read) == text);
  RC_ASSERT(read.name == profile.name);
  RC_ASSERT(read.kind == profile.kind);
  RC_ASSERT(read.device == profile.device);
  RC_ASSERT(read.sources == profile.sources);
  RC_ASSERT(read.hardware.adapter.pio_bytes == profile.hardware.adapter.pio_bytes);
  RC_ASSERT(read.hardware.node.signal_ns == profile.hardware.node.signal_ns);
}

RC_GTEST_PROP(Profile, DamagedTextIsRefusedInOneLineOrRead, ()) {
  std::string text = to_json(load("mt25208"));
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto what = *rc::gen::inRange(0, 3);
    if (what == 0) text.erase(at, *rc::gen::inRange<std::size_t>(1, 40));
    if (what == 1) text[at] = *rc::gen::arbitrary<char>();
    if (what == 2) text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 30));
  }
  try {
    parse("text", text);
  } catch (const UsageError& error) {
    RC_ASSERT(std::string(error.what()).starts_with("text: "));
  }
}

}  // namespace
}  // namespace weft::nic_profiles::profile_test
