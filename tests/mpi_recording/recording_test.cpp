// The recording of a program's collectives: written by recorders, read, and refused where damaged.
#include "mpi/recording/recording.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/ticks.hpp"
#include "mpi/recording/bytes.hpp"
#include "mpi/recording/recorder.hpp"

namespace weft::mpi::recording_test {
namespace {

std::uint64_t below(std::uint64_t most) {
  return *rc::gen::inRange<std::uint64_t>(0, most);
}
bool coin() {
  return below(2) == 1;
}
/// Of any size, small ones as often as large ones.
std::uint64_t any_number(unsigned bits) {
  const unsigned shift = static_cast<unsigned>(below(bits));
  return *rc::gen::arbitrary<std::uint64_t>() >> (63 - shift);
}

RecordedCommunicator draw_communicator(std::uint32_t world) {
  RecordedCommunicator one;
  one.ranks = 1 + static_cast<std::uint32_t>(below(world));
  one.rank = static_cast<std::uint32_t>(below(one.ranks));
  one.nodes = static_cast<std::uint32_t>(below(one.ranks + 1));
  one.context = any_number(64);
  one.digest = any_number(64);
  one.two_groups = coin();
  if (coin()) {
    std::vector<int> members(one.ranks);
    for (std::size_t i = 0; i < members.size(); ++i) members[i] = static_cast<int>(i);
    one.members = runs_of(members);
  }
  return one;
}

RecordedKind draw_kind(const std::vector<RecordedCommunicator>& communicators) {
  RecordedKind kind;
  kind.communicator = static_cast<std::uint32_t>(below(communicators.size()));
  kind.collective = *rc::gen::elementOf(std::vector<plan::Collective>(
      plan::all_collectives().begin(), plan::all_collectives().end()));
  kind.request = coin();
  kind.served = coin();
  kind.irregular = coin();
  kind.sized = coin();
  kind.neighbours = coin();
  kind.commutative = coin();
  kind.associative = coin();
  kind.element_bytes = 1 + static_cast<std::uint32_t>(any_number(20));
  kind.root = static_cast<std::uint32_t>(below(communicators[kind.communicator].ranks));
  kind.bytes = any_number(60);
  return kind;
}

RankRecording draw_part(std::uint32_t rank, std::uint32_t world) {
  RankRecording part;
  part.rank = rank;
  part.ended = coin();
  part.first = {any_number(50), 1 + any_number(60)};
  part.last = {part.first.ticks + any_number(50), part.first.real_ns + any_number(60)};
  for (auto left = below(4); left > 0; --left) {
    part.communicators.push_back(draw_communicator(world));
  }
  if (part.communicators.empty()) return part;
  for (auto left = below(5); left > 0; --left) part.kinds.push_back(draw_kind(part.communicators));
  part.sums.resize(part.kinds.size());
  for (RecordedSum& sum : part.sums) sum = {any_number(50), any_number(60)};
  part.calls_left_out = any_number(40);
  part.calls_unknown = any_number(40);
  if (part.kinds.empty()) return part;
  for (auto left = below(20); left > 0; --left) {
    part.calls.push_back(
        {static_cast<std::uint32_t>(below(part.kinds.size())), any_number(64), any_number(48)});
  }
  return part;
}

Recording draw() {
  Recording recording;
  recording.ranks = 1 + static_cast<std::uint32_t>(below(5));
  if (coin()) recording.facts = {{"program", "a.out"}, {"machine", "2x2"}};
  std::set<std::uint32_t> ranks = {0};
  for (std::uint32_t rank = 1; rank < recording.ranks; ++rank) {
    if (coin()) ranks.insert(rank);
  }
  for (const std::uint32_t rank : ranks)
    recording.parts.push_back(draw_part(rank, recording.ranks));
  return recording;
}

RC_GTEST_PROP(Recording, IsReadAsItWasWritten, ()) {
  const Recording recording = draw();
  RC_ASSERT(parse_recording("file", to_bytes(recording)) == recording);
}

/// Nothing where the bytes are taken.
std::optional<std::string> refusal(const std::string& bytes) {
  try {
    (void)parse_recording("file", bytes);
    return std::nullopt;
  } catch (const UsageError& error) {
    return error.what();
  }
}

bool is_a_line_about_the_file(const std::string& line) {
  return line.starts_with("file: ") && line.find('\n') == std::string::npos;
}

// Whatever bit changes is seen.
RC_GTEST_PROP(Recording, IsRefusedWhereItIsDamaged, ()) {
  std::string bytes = to_bytes(draw());
  const auto at = static_cast<std::size_t>(below(bytes.size()));
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
  const auto line = refusal(bytes);
  RC_ASSERT(line.has_value());
  RC_ASSERT(is_a_line_about_the_file(*line));
}

// A file that ends inside a block is refused; between two it is one that some ranks have not ended.
RC_GTEST_PROP(Recording, IsRefusedWhereItIsCut, ()) {
  const std::string bytes = to_bytes(draw());
  ByteReader from("file", bytes);
  from.take("head", recording_head().size());
  std::set<std::size_t> ends;
  while (!from.is_at_end()) {
    from.take("a block", from.count("its size", 1));
    from.word("its checksum");
    ends.insert(from.place());
  }
  const auto cut = static_cast<std::size_t>(below(bytes.size()));
  const auto line = refusal(bytes.substr(0, cut));
  RC_ASSERT(line.has_value() == !ends.contains(cut));
  if (line) RC_ASSERT(is_a_line_about_the_file(*line));
}

RC_GTEST_PROP(Recording, ReadsNoFurtherThanTheEnd, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  ByteWriter framed;
  framed.text(bytes);
  framed.word(checksum(bytes));
  try {
    (void)parse_recording("file", recording_head() + framed.bytes());
  } catch (const UsageError&) {
  }
}

RC_GTEST_PROP(Recording, RunsAreTheRanks, ()) {
  const auto ranks = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  const auto runs = runs_of(ranks);
  RC_ASSERT(runs.size() <= RecordedCommunicator::kMostRuns);
  if (!runs.empty()) {
    RC_ASSERT(ranks_of(runs) == ranks);
  } else {
    RC_ASSERT(ranks.empty() || ranks.size() > RecordedCommunicator::kMostRuns);
  }
}

RC_GTEST_PROP(Recording, RoundedIsASixteenthOffAtMost, ()) {
  const std::uint64_t bytes = any_number(62);
  const std::uint64_t near = rounded(bytes);
  RC_ASSERT((near > bytes ? near - bytes : bytes - near) <= bytes / 16);
  RC_ASSERT(rounded(near) == near);
}

TEST(Recording, ChecksumIsThatOfZlib) {
  EXPECT_EQ(checksum("123456789"), 0xcbf43926u);
  EXPECT_EQ(checksum(""), 0u);
}

TEST(Recording, NamesAnotherVersionAndOtherFiles) {
  EXPECT_EQ(refusal("{}"), "file: no recording of weft");
  EXPECT_EQ(refusal(""), "file: no recording of weft");
  std::string newer = recording_head();
  newer.back() = 2;
  EXPECT_EQ(refusal(newer), "file: a recording of version 2; this weft reads version 1");
  EXPECT_EQ(refusal(recording_head()), "file: a recording of no rank: its job has not ended");
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    std::string name = std::filesystem::temp_directory_path() / "weft-recorder-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "job"; }
  std::string part() const { return Recorder::part_path(path(), 0); }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

RecordedKind kind_of(std::uint64_t bytes) {
  return {.collective = plan::Collective::alltoall, .sized = true, .bytes = bytes};
}

TEST_F(RecorderTest, WritesDownWhatItIsGiven) {
  Recorder recorder(path(), 0, 2, false);
  ASSERT_EQ(recorder.add(RecordedCommunicator{.context = 1, .ranks = 2, .members = {{0, 1, 2}}}),
            0u);
  const auto small = recorder.number_of(kind_of(8)), large = recorder.number_of(kind_of(4096));
  EXPECT_NE(small, large);
  EXPECT_EQ(recorder.number_of(kind_of(8)), small);
  recorder.add(small, 1000, 1010);
  recorder.add(large, 2000, 2500);
  recorder.add(small, 3000, 3020);
  recorder.add(Recorder::kUnknown, 4000, 4001);
  const Recording found =
      parse_recording("file", recording_head() + recorder.finish({{"program", "p"}}));
  ASSERT_EQ(found.parts.size(), 1u);
  const RankRecording& rank = found.parts.front();
  EXPECT_EQ(found.ranks, 2u);
  EXPECT_EQ(found.fact("program"), "p");
  EXPECT_TRUE(rank.ended);
  EXPECT_EQ(rank.calls, (std::vector<RecordedCall>{{0, 1000, 10}, {1, 2000, 500}, {0, 3000, 20}}));
  EXPECT_EQ(rank.sums, (std::vector<RecordedSum>{{2, 30}, {1, 500}}));
  EXPECT_EQ(rank.calls_unknown, 1u);
  EXPECT_EQ(rank.calls_left_out, 0u);
  EXPECT_FALSE(std::filesystem::exists(part()));
}

TEST_F(RecorderTest, IsBoundedAndCountsTheRest) {
  Recorder recorder(path(), 0, 4096, false);
  recorder.add(RecordedCommunicator{});
  const auto kind = recorder.number_of(kind_of(8));
  constexpr std::uint64_t kCalls = 1'000'000;
  for (std::uint64_t i = 0; i < kCalls; ++i) recorder.add(kind, 1000 * i, 1000 * i + 10);
  const std::string bytes = recorder.finish({});
  EXPECT_LT(bytes.size(), 3 * Recorder::kMostJobBytes / 4096);
  const RankRecording rank = parse_recording("file", recording_head() + bytes).parts.front();
  EXPECT_EQ(rank.sums.front(), (RecordedSum{kCalls, 10 * kCalls}));
  EXPECT_GT(rank.calls.size(), 1000u);
  EXPECT_EQ(rank.calls.size() + rank.calls_left_out, kCalls);
}

TEST_F(RecorderTest, BoundsItsKindsAndRoundsTheirSizes) {
  Recorder recorder(path(), 0, 1, false);
  recorder.add(RecordedCommunicator{});
  std::set<std::uint32_t> numbers;
  for (std::uint64_t bytes = 1; bytes < 1'000'000; bytes += 3) {
    numbers.insert(recorder.number_of(kind_of(bytes)));
  }
  EXPECT_GE(numbers.size(), Recorder::kExactKinds);
  EXPECT_LT(numbers.size(), Recorder::kExactKinds + 100);
  EXPECT_FALSE(numbers.contains(Recorder::kUnknown));
}

TEST_F(RecorderTest, LeavesAPartWhereTheProcessEnds) {
  {
    Recorder recorder(path(), 0, 1, false);
    recorder.add(RecordedCommunicator{});
    const auto kind = recorder.number_of(kind_of(8));
    for (std::uint64_t i = 0; i < 10'000; ++i) recorder.add(kind, 1000 * i, 1000 * i + 10);
    // As if it was killed: full buffers are there, the last one is not.
  }
  const Recording found = merge_recordings({{"part", read(part())}});
  EXPECT_FALSE(found.parts.front().ended);
  EXPECT_FALSE(found.is_complete());
  EXPECT_GT(found.parts.front().calls.size(), 4000u);
  EXPECT_LT(found.parts.front().calls.size(), 10'000u);

  Recorder again(path(), 0, 1, false);  // removes what an earlier job left
  EXPECT_FALSE(std::filesystem::exists(part()));
  again.add(RecordedCommunicator{});
  again.add(again.number_of(kind_of(8)), 1, 2);
  EXPECT_TRUE(again.keep_part());
  EXPECT_EQ(merge_recordings({{"part", read(part())}}).parts.front().calls.size(), 1u);
  again.add(again.number_of(kind_of(16)), 3, 4);
  EXPECT_TRUE(again.keep_part());
  std::string bytes = read(part());
  EXPECT_EQ(merge_recordings({{"part", bytes}}).parts.front().calls.size(), 2u);
  // What a kill cuts short is left out.
  bytes.pop_back();
  EXPECT_EQ(merge_recordings({{"part", bytes}}).parts.front().calls.size(), 1u);
  EXPECT_THROW((void)parse_recording("part", bytes), UsageError);
  again.remove_part();
  EXPECT_FALSE(std::filesystem::exists(part()));
}

TEST_F(RecorderTest, GoesOnWhereNoPartCanBeWritten) {
  Recorder recorder(folder_ / "missing" / "job", 0, 1, false);
  recorder.add(RecordedCommunicator{});
  const auto kind = recorder.number_of(kind_of(8));
  for (std::uint64_t i = 0; i < 10'000; ++i) recorder.add(kind, 1000 * i, 1000 * i + 10);
  EXPECT_FALSE(recorder.keep_part());
  const RankRecording rank =
      parse_recording("file", recording_head() + recorder.finish({})).parts.front();
  EXPECT_EQ(rank.calls.size(), 10'000u);
}

}  // namespace
}  // namespace weft::mpi::recording_test
