#include "plan/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <random>

#include "base/error.hpp"
#include "plan/builder.hpp"
#include "tests/plan/cases.hpp"
#include "tests/plan/random_slices.hpp"

namespace weft::plan::testing::text_test {
namespace {

constexpr std::string_view kSample =
    "weft-plan 1\n"
    "rank 1 of 4\n"
    "bytes input 256 output 256 stage 128 scratch 0\n"
    "0 copy stage@1:0+64x2/128 <- input@1:0+64x2/96\n"
    "1 signal 0 after 0\n"
    "2 wait 0\n"
    "3 send 3 input@1:192+64\n"
    "4 recv 3 output@1:192+64\n"
    "5 reduce output@1:0+64 <- left stage@0:64+64 after 2,4\n"
    "6 reduce output@1:0+64 <- right stage@0:0+64 after 5\n";

Plan random_plan() {
  const int ranks = static_cast<int>(number(2, 5));
  const int rank = static_cast<int>(number(0, static_cast<std::uint64_t>(ranks) - 1));
  Builder builder(rank, ranks, number(0, 99), number(0, 99));
  builder.allocate_stage(number(0, 200));
  builder.allocate_scratch(number(0, 200));
  OpId next = 0;
  for (auto left = number(0, 12); left > 0; --left) {
    std::vector<OpId> after;
    for (auto i = number(0, 3); i > 0 && next > 0; --i) {
      after.push_back(static_cast<OpId>(number(0, next - 1)));
    }
    const int peer =
        (rank + static_cast<int>(number(1, static_cast<std::uint64_t>(ranks) - 1))) % ranks;
    const Slice dst = random_slice(ranks);
    Slice src = random_slice(ranks);
    src = Slice::contiguous(src.space, src.owner, src.offset, dst.bytes());
    const auto side = number(0, 1) == 0 ? Operand::left : Operand::right;
    OpId id = kNoOp;
    switch (static_cast<OpKind>(number(0, 5))) {
      case OpKind::send:
        id = builder.send(peer, src, after);
        break;
      case OpKind::recv:
        id = builder.recv(peer, dst, after);
        break;
      case OpKind::copy:
        id = builder.copy(dst, src, after);
        break;
      case OpKind::reduce:
        id = builder.reduce(dst, src, side, after);
        break;
      case OpKind::signal:
        id = builder.signal(peer, after);
        break;
      case OpKind::wait:
        id = builder.wait(peer, after);
        break;
    }
    if (id != kNoOp) next = id + 1;
  }
  return std::move(builder).finish();
}

RC_GTEST_PROP(TextProperty, ReadsBackAsThePlan, ()) {
  const Plan plan = random_plan();
  RC_ASSERT(parse(to_text(plan)) == plan);
}

TEST(Text, ReadsBackTheCases) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    for (const Plan& plan : random_case(random, 6).plans) EXPECT_EQ(parse(to_text(plan)), plan);
  }
}

TEST(Text, IsWhatTheHeaderShows) {
  EXPECT_EQ(to_text(parse(kSample)), kSample);
}

TEST(Text, IgnoresCommentsEmptyLinesAndBlanks) {
  std::string text = "# a plan\n\n";
  for (const char c : kSample) {
    if (c == '\n') text += " \t# so\r\n\n";
    if (c != '\n') text += c == ' ' ? "  " : std::string(1, c);
  }
  EXPECT_EQ(to_text(parse(text)), kSample);
}

/// The error of parse() for `text`; "" when it reads it.
std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Text, NamesTheLineAndWhatIsWrongInAHeader) {
  const std::string version = "weft-plan 1\n";
  const std::string rank = version + "rank 0 of 2\n";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "plan: ends before its line 'weft-plan'"},
      {"# nothing\n\n", "plan: ends before its line 'weft-plan'"},
      {"plan 1\n", "plan, line 1: 'plan 1': expected 'weft-plan'"},
      {"weft-plan\n", "plan, line 1: 'weft-plan': ends too early"},
      {"\nweft-plan 2\n", "plan, line 2: 'weft-plan 2': this reads version 1"},
      {"weft-plan 1 x\n", "plan, line 1: 'weft-plan 1 x': 'x' is too much"},
      {version, "plan: ends before its line 'rank'"},
      {version + "rank 0 of\n", "plan, line 2: 'rank 0 of': ends too early"},
      {version + "rank x of 2\n", "plan, line 2: 'rank x of 2': 'x' is not a number that fits"},
      {version + "rank 0 in 2\n", "plan, line 2: 'rank 0 in 2': expected 'of'"},
      {version + "rank 2 of 2\n", "plan, line 2: 'rank 2 of 2': ranks are 0 to 1"},
      {version + "rank -1 of 2\n", "plan, line 2: 'rank -1 of 2': ranks are 0 to 1"},
      {version + "rank 0 of -2147483648\n",
       "plan, line 2: 'rank 0 of -2147483648': a plan has at least 1 rank"},
      {rank, "plan: ends before its line 'bytes'"},
      {rank + "bytes input 8 output 8 scratch 0 stage 0\n",
       "plan, line 3: 'bytes input 8 output 8 scratch 0 stage 0': expected 'stage'"},
      {rank + "bytes input -8 output 8 stage 0 scratch 0\n",
       "plan, line 3: 'bytes input -8 output 8 stage 0 scratch 0': '-8' is not a number that "
       "fits"},
      {rank + "bytes input 8 output 8 stage 8 scratch 0\n",
       "plan, line 3: 'bytes input 8 output 8 stage 8 scratch 0': stage is not a multiple of 64 "
       "below 2^62"},
      {rank + "bytes input 8 output 8 stage 0 scratch 9223372036854775808\n",
       "plan, line 3: 'bytes input 8 output 8 stage 0 scratch 9223372036854775808': scratch is "
       "not a multiple of 64 below 2^62"},
  };
  for (const auto& [text, error] : table) EXPECT_EQ(error_of(text), error) << text;
}

TEST(Text, NamesTheLineAndWhatIsWrongInAnOp) {
  const std::string head =
      "weft-plan 1\nrank 0 of 2\nbytes input 64 output 64 stage 0 scratch 0\n0 wait 1\n";
  const std::string form =
      "not of the form SPACE@RANK:OFFSET+BYTES or SPACE@RANK:OFFSET+BYTESxCOUNT/STRIDE";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"2 wait 1", "ops are numbered in order, next is 1"},
      {"x wait 1", "'x' is not a number that fits"},
      {"1", "ends too early"},
      {"1 put 1 input@0:0+8", "the op is not send, recv, copy, reduce, signal or wait"},
      {"1 send 1", "ends too early"},
      {"1 send 1 heap@0:0+8",
       "slice 'heap@0:0+8': does not begin with input@, output@, stage@ or scratch@"},
      {"1 send 1 input@0:0", "slice 'input@0:0': " + form},
      {"1 send 0 input@0:0+8", "plan of rank 0 of 2: peer 0 is not another of its ranks"},
      {"1 send 2 input@0:0+8", "plan of rank 0 of 2: peer 2 is not another of its ranks"},
      {"1 send 99999999999 input@0:0+8", "'99999999999' is not a number that fits"},
      {"1 send 1 input@0:0+0", "the op moves nothing"},
      {"1 copy output@0:0+8 input@0:0+8", "expected '<-'"},
      {"1 copy output@0:0+8 <- input@0:0+9",
       "9 bytes of input@0:0+9 into 8 bytes of output@0:0+8: sizes must be equal"},
      {"1 copy output@0:0+8 <- output@0:0+8", "the op moves nothing"},
      {"1 reduce output@0:0+8 <- input@0:0+8", "expected left or right after the arrow"},
      {"1 wait 1 after", "ends too early"},
      {"1 wait 1 before 0", "expected 'after'"},
      {"1 wait 1 after 0,", "'' is not a number that fits"},
      {"1 wait 1 after 0, 0", "'' is not a number that fits"},
      {"1 wait 1 after 0 0", "'0' is too much"},
      {"1 wait 1 after 4294967295", "'4294967295' is no op"},
      {"1 wait 1 after 1",
       "plan of rank 0: op 1 cannot follow op 1, which does not come before it"},
  };
  for (const auto& [line, error] : table) {
    EXPECT_EQ(error_of(head + line + "\n"), "plan, line 5: '" + line + "': " + error);
  }
}

/// Changes, drops, doubles or inserts characters, words and lines.
std::string mutate(std::string text, std::mt19937& random) {
  constexpr std::string_view kAlphabet = "0123456789 \n\t\r#@:+x/,<-leftrighsndcopywavo\0\xff";
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (auto edits = 1 + below(2); edits > 0 && !text.empty(); --edits) {
    const auto at = below(text.size());
    const auto length = std::min(1 + below(20), text.size() - at);
    switch (below(5)) {
      case 0:
        text[at] = kAlphabet[below(kAlphabet.size())];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 3:
        text.insert(at, 1, kAlphabet[below(kAlphabet.size())]);
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(Text, OfAnyKindIsReadOrRefusedInOneLine) {
  std::mt19937 random(4);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(kSample);
    if (i % 2 == 0) text = to_text(random_case(random, 4).plans.front());
    text = mutate(text, random);
    std::optional<Plan> plan;
    try {
      plan = parse(text);
    } catch (const UsageError& error) {
      ++refused;
      EXPECT_TRUE(std::string_view(error.what()).starts_with("plan")) << error.what();
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
    if (!plan) continue;
    ++read;
    ASSERT_EQ(parse(to_text(*plan)), *plan) << text;
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace weft::plan::testing::text_test
