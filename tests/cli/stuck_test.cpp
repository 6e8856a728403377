// weft stuck: what it prints about ranks that stand still, as text and as JSON of its schema.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/board/board.hpp"
#include "engine/node/call_tag.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::stuck_test {
namespace {

using nlohmann::json;
namespace board = engine::board;

constexpr std::uint64_t kCommunicator = 0x0badcafe'12345678;

/// Ranks of a communicator of three, of which the last has not come: as if they were threads.
class Job {
 public:
  Job() {
    for (int rank = 0; rank < 3; ++rank) {
      const std::array neighbours{board::Poster::Neighbour{rank, this_process()}};
      posters_[rank].show(kCommunicator, rank, 3, 0, neighbours);
      begin(rank, 1, 64);
      posters_[rank].end_call(tag(1), ticks());
      if (rank == 2) continue;
      begin(rank, 2, 128);
      posters_[rank].begin_waits(tag(2), "");
      posters_[rank].add_wait(board::WaitKind::recv, board::kOverDevice, 41, rank == 0 ? 1 : 2,
                              3072, 0, {.slots = 3, .queue_pairs = 2, .ready = 1, .requests = 4});
      posters_[rank].end_waits();
    }
  }

 private:
  static std::uint64_t tag(std::uint32_t number) { return engine::CallTag{number, number}.word(); }
  void begin(int rank, std::uint32_t number, std::uint64_t bytes) {
    board::Poster& poster = posters_[rank];
    const auto broadcast = static_cast<std::uint8_t>(plan::Collective::broadcast);
    poster.begin_call(tag(number), ticks(), board::pack(broadcast, poster.algorithm("sa"), 1),
                      bytes);
  }
  std::array<board::Poster, 3> posters_;
};

/// Whether a value is as a schema says, as far as docs/stuck.schema.json uses schemas.
void expect_fits(const json& value, const json& schema, const json& whole, const std::string& at) {
  if (schema.contains("$ref")) {
    const std::string name = schema.at("$ref").get<std::string>().substr(8);
    return expect_fits(value, whole.at("$defs").at(name), whole, at);
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::ranges::count(schema.at("enum"), value), 0) << at << ": " << value;
    return;
  }
  const std::string type = schema.at("type");
  if (type == "object") {
    ASSERT_TRUE(value.is_object()) << at;
    for (const auto& name : schema.at("required")) {
      EXPECT_TRUE(value.contains(name.get<std::string>())) << at << " lacks " << name;
    }
    for (const auto& [name, one] : value.items()) {
      ASSERT_TRUE(schema.at("properties").contains(name)) << at << " has " << name;
      expect_fits(one, schema.at("properties").at(name), whole, at + "." + name);
    }
  } else if (type == "array") {
    ASSERT_TRUE(value.is_array()) << at;
    for (const json& one : value) expect_fits(one, schema.at("items"), whole, at + "[]");
  } else {
    const bool fits = (type == "integer" && value.is_number_integer()) ||
                      (type == "number" && value.is_number()) ||
                      (type == "string" && value.is_string()) ||
                      (type == "boolean" && value.is_boolean());
    EXPECT_TRUE(fits) << at << ": " << value << " is no " << type;
  }
}

json schema() {
  std::ifstream file(WEFT_SOURCES "/docs/stuck.schema.json");
  return json::parse(file);
}

TEST(Stuck, SaysWhoHasNotComeAndWhoIsBlocked) {
  const Job job;
  const Ended ended = run_tool({"stuck", "--no-stacks", std::to_string(::getpid())});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* part :
       {"communicator 0badcafe of 3 ranks: ranks 0-1 in broadcast of 128 bytes with root 1 "
        "(call 2, by sa)",
        "not arrived: rank 2", "has come out of broadcast of 64 bytes",
        "blocked at: rank 1 waits for 3072 bytes from rank 2, op 41 of sa (0 have moved; by the "
        "device, whose connection is whole: 1 of 2 queue pairs ready, 4 requests not complete, "
        "made anew 0 times, 3 slots of the ring written and not known to be read); rank 2 has not "
        "entered the call; 1 other waits for rank 2, too, directly or not"}) {
    EXPECT_NE(ended.out.find(part), std::string::npos) << ended.out;
  }
  EXPECT_EQ(ended.out.find("another call"), std::string::npos) << ended.out;
}

TEST(Stuck, PrintsJsonOfItsSchema) {
  const Job job;
  const Ended ended = run_tool({"stuck", "--json", "--no-stacks", std::to_string(::getpid())});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const json told = json::parse(ended.out);
  const json whole = schema();
  expect_fits(told, whole, whole, "");
  ASSERT_EQ(told.at("standstills").size(), 1u);
  const json& one = told.at("standstills")[0];
  EXPECT_EQ(one.at("communicator"), "0badcafe12345678");
  EXPECT_EQ(one.at("not_arrived"), json({2}));
  EXPECT_EQ(one.at("blocked_at").at("target"), "not arrived");
  const json& wait = one.at("blocked_at").at("wait");
  EXPECT_EQ(wait.at("bytes"), 3072);
  EXPECT_EQ(wait.at("ring_slots"), 3);
  EXPECT_EQ(wait.at("connection").at("ready"), 1);
  EXPECT_EQ(one.at("ranks").size(), 3u);
}

TEST(Stuck, FindsThoseThatDescendFromAProcess) {
  const Job job;
  const Ended ended = run_tool({"stuck", "--no-stacks", std::to_string(::getppid())});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("0badcafe"), std::string::npos) << ended.out << ended.err;
}

TEST(Stuck, SaysWhereThereIsNoSuchJob) {
  const Ended ended = run_tool({"stuck", "no-such-job"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("no-such-job: no process of that runs over weft here"),
            std::string::npos)
      << ended.err;
}

}  // namespace
}  // namespace weft::cli::stuck_test
