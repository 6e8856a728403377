// Boards: what a rank posts is what a look at its process shows, in this process and from another,
// also while it is stopped; and nothing is left.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "engine/board/board.hpp"
#include "engine/board/reading.hpp"
#include "engine/board/whereabouts.hpp"
#include "engine/node/call_tag.hpp"

namespace weft::engine::board::board_test {
namespace {

constexpr std::uint64_t kCommunicator = 0x1234'5678'9abc'def0;

std::uint64_t tag_of(std::uint32_t number) {
  return CallTag{number, number * 7}.word();
}

void begin(Poster& poster, std::uint32_t number, plan::Collective collective, int root,
           std::uint64_t bytes) {
  poster.begin_call(tag_of(number), ticks(),
                    pack(static_cast<std::uint8_t>(collective), poster.algorithm("leader"), root),
                    bytes);
}

/// Of this communicator, as seen in a process; fails where it is not there.
SeenCommunicator seen_in(pid_t process) {
  for (SeenCommunicator& seen : look(std::span(&process, 1))) {
    if (seen.number == kCommunicator) return std::move(seen);
  }
  ADD_FAILURE() << "no posting";
  return {};
}

RC_GTEST_PROP(Board, ShowsTheLastCalls, ()) {
  const int rank = *rc::gen::inRange(0, 1000);
  const int root = *rc::gen::inRange(0, 1000);
  const auto last = *rc::gen::inRange<std::uint32_t>(1, 40);
  const auto bytes = *rc::gen::arbitrary<std::uint64_t>();
  const bool ends = *rc::gen::arbitrary<bool>();
  Poster poster;
  poster.show(kCommunicator, rank, 1000, 3, {});
  for (std::uint32_t number = 1; number <= last; ++number) {
    begin(poster, number, plan::Collective::reduce, root, bytes + number);
    if (number < last || ends) poster.end_call(tag_of(number), ticks());
  }
  const SeenCommunicator seen = seen_in(::getpid());
  RC_ASSERT(seen.size == 1000);
  RC_ASSERT(seen.ranks.size() == 1u);
  const SeenRank& one = seen.ranks.front();
  RC_ASSERT(one.rank == rank);
  RC_ASSERT(one.node == 3);
  RC_ASSERT(one.process.number == ::getpid());
  RC_ASSERT(one.calls.size() == std::min<std::size_t>(last, kCalls));
  for (std::size_t i = 0; i < one.calls.size(); ++i) {
    const SeenCall& call = one.calls[i];
    const auto number = static_cast<std::uint32_t>(last - one.calls.size() + 1 + i);
    RC_ASSERT(call.number == number);
    RC_ASSERT(call.digest == number * 7);
    RC_ASSERT(call.collective == plan::Collective::reduce);
    RC_ASSERT(call.root == root);
    RC_ASSERT(call.bytes == bytes + number);
    RC_ASSERT(call.algorithm == "leader");
    RC_ASSERT(call.is_under_way() == (number == last && !ends));
    RC_ASSERT(call.began_s >= 0);
    RC_ASSERT(call.began_s < 60);
  }
}

TEST(Board, ShowsWhatARankWaitsForInItsLastCallOnly) {
  Poster poster;
  const std::array neighbours{Poster::Neighbour{4, this_process()},
                              Poster::Neighbour{5, this_process()}};
  poster.show(kCommunicator, 4, 6, 0, neighbours);
  begin(poster, 1, plan::Collective::allreduce, 0, 64);
  poster.begin_waits(tag_of(1), "sum of int32");
  const Link link{3, 2, 1, 65535, (1 << 24) - 1};
  poster.add_wait(WaitKind::recv, kOverDevice | kBroken, 41, 5, 3072, 1024, link);
  poster.add_wait(WaitKind::signal, 0, 7, 3, 0, 0);
  poster.end_waits();
  const SeenRank waiting = seen_in(::getpid()).ranks.front();
  ASSERT_EQ(waiting.waits.size(), 2u);
  EXPECT_EQ(waiting.waits[0].op, 41u);
  EXPECT_EQ(waiting.waits[0].peer, 5);
  EXPECT_EQ(waiting.waits[0].bytes, 3072u);
  EXPECT_EQ(waiting.waits[0].moved, 1024u);
  EXPECT_EQ(waiting.waits[0].kind, WaitKind::recv);
  EXPECT_TRUE(waiting.waits[0].over_device);
  EXPECT_TRUE(waiting.waits[0].broken);
  EXPECT_EQ(waiting.waits[0].link, link);
  EXPECT_FALSE(waiting.waits[1].link);
  EXPECT_EQ(waiting.waits[1].kind, WaitKind::signal);
  EXPECT_EQ(waiting.calls.back().operation, "sum of int32");
  poster.end_call(tag_of(1), ticks());
  EXPECT_TRUE(seen_in(::getpid()).ranks.front().waits.empty());
  begin(poster, 2, plan::Collective::allreduce, 0, 64);
  EXPECT_TRUE(seen_in(::getpid()).ranks.front().waits.empty());
  // Of the neighbour its process is known.
  EXPECT_EQ(seen_in(::getpid()).ranks.size(), 2u);
  EXPECT_FALSE(seen_in(::getpid()).ranks.back().has_posting);
}

TEST(Board, ShowsASetUpUntilItsEnd) {
  Poster poster;
  poster.show(kCommunicator, 0, 2, 0, {});
  poster.begin_setup(pack(static_cast<std::uint8_t>(plan::Collective::broadcast), 0, 1), 512);
  const SeenRank one = seen_in(::getpid()).ranks.front();
  EXPECT_EQ(one.phase, Phase::setting_up);
  ASSERT_TRUE(one.setup.has_value());
  EXPECT_EQ(one.setup->collective, plan::Collective::broadcast);
  EXPECT_EQ(one.setup->bytes, 512u);
  EXPECT_EQ(one.setup->root, 1);
  poster.end_setup();
  EXPECT_FALSE(seen_in(::getpid()).ranks.front().setup.has_value());
  poster.fail();
  EXPECT_EQ(seen_in(::getpid()).ranks.front().phase, Phase::failed);
}

TEST(Board, TakesNoStrangerForANeighbourThatHasEnded) {
  Poster poster;
  ProcessId ended = this_process();
  ended.start += 1;  // the number is this process's by now
  const std::array neighbours{Poster::Neighbour{0, this_process()}, Poster::Neighbour{1, ended},
                              Poster::Neighbour{2, this_process()}};
  poster.show(kCommunicator, 0, 3, 0, neighbours);
  const SeenCommunicator seen = seen_in(::getpid());
  ASSERT_EQ(seen.ranks.size(), 3u);
  EXPECT_FALSE(seen.ranks[0].process.is_dead());
  EXPECT_TRUE(seen.ranks[1].process.is_dead());
  EXPECT_FALSE(seen.ranks[2].process.is_dead());
}

// Many at once, of different sizes, given back in any order: each is seen as long as it lives.
RC_GTEST_PROP(Board, HoldsAsManyPostingsAsThereAre, ()) {
  std::map<int, std::unique_ptr<Poster>> posters;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 60));
  for (const int rank : steps) {
    if (posters.erase(rank) != 0) continue;
    auto poster = std::make_unique<Poster>();
    const std::vector<Poster::Neighbour> neighbours(static_cast<std::size_t>(rank * 17),
                                                    {rank, this_process()});
    poster->show(kCommunicator, rank, 60, 0, neighbours);
    posters[rank] = std::move(poster);
  }
  std::vector<int> known, shown;
  for (const auto& [rank, poster] : posters) known.push_back(rank);
  const pid_t self = ::getpid();
  for (const SeenCommunicator& seen : look(std::span(&self, 1))) {
    if (seen.number != kCommunicator) continue;
    for (const SeenRank& rank : seen.ranks) shown.push_back(rank.rank);
  }
  RC_ASSERT(shown == known);
}

// What fits into an answer arrives; an answer about another communicator is none.
RC_GTEST_PROP(Whereabouts, TellTheLastCallAndAWait, ()) {
  SeenRank rank;
  rank.rank = *rc::gen::inRange(0, 100'000);
  rank.process.state = *rc::gen::element('R', 'S', 'T', 'D');
  rank.phase = Phase::calls;
  SeenCall call;
  call.number = *rc::gen::inRange(1u, 1'000'000u);
  call.digest = *rc::gen::arbitrary<std::uint32_t>();
  call.collective = plan::Collective::gather;
  call.root = *rc::gen::inRange(0, 100'000);
  call.bytes = *rc::gen::arbitrary<std::uint64_t>();
  call.began_s = *rc::gen::inRange(0, 100);
  const bool ended = *rc::gen::arbitrary<bool>();
  if (ended) call.ended_s = *rc::gen::inRange(0, 100);
  rank.calls.push_back(call);
  const bool waits = !ended && *rc::gen::arbitrary<bool>();
  SeenWait wait;
  wait.kind = *rc::gen::element(WaitKind::signal, WaitKind::send, WaitKind::recv, WaitKind::entry);
  wait.peer = *rc::gen::inRange(0, 100'000);
  wait.op = *rc::gen::inRange(0u, 60'000u);
  wait.bytes = *rc::gen::arbitrary<std::uint32_t>();
  wait.over_device = *rc::gen::arbitrary<bool>();
  wait.broken = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    wait.link = Link{*rc::gen::arbitrary<std::uint8_t>(), *rc::gen::inRange<std::uint8_t>(0, 100),
                     *rc::gen::arbitrary<std::uint8_t>(), *rc::gen::arbitrary<std::uint16_t>(),
                     *rc::gen::inRange(0u, 1u << 24)};
  }
  if (waits) rank.waits.push_back(wait);
  const Whereabouts text = answer_of(kCommunicator, rank);
  RC_ASSERT(!rank_from(text, kCommunicator + 1).has_value());
  const auto told = rank_from(text, kCommunicator);
  RC_ASSERT(told.has_value());
  RC_ASSERT(told->rank == rank.rank);
  RC_ASSERT(told->process.state == rank.process.state);
  RC_ASSERT(told->calls.size() == 1u);
  const SeenCall& last = told->calls.back();
  RC_ASSERT(last.number == call.number);
  RC_ASSERT(last.digest == call.digest);
  RC_ASSERT(last.collective == call.collective);
  RC_ASSERT(last.root == call.root);
  RC_ASSERT(last.bytes == call.bytes);
  RC_ASSERT(last.is_under_way() == !ended);
  RC_ASSERT(last.ended_s.value_or(last.began_s) == call.ended_s.value_or(call.began_s));
  RC_ASSERT(told->waits.size() == rank.waits.size());
  if (!waits) return;
  RC_ASSERT(told->waits[0].kind == wait.kind);
  RC_ASSERT(told->waits[0].peer == wait.peer);
  RC_ASSERT(told->waits[0].op == wait.op);
  RC_ASSERT(told->waits[0].bytes == wait.bytes);
  RC_ASSERT(told->waits[0].over_device == wait.over_device);
  RC_ASSERT(told->waits[0].broken == wait.broken);
  RC_ASSERT(told->waits[0].link == wait.link);
}

TEST(Whereabouts, AreAnsweredFromTheBoardsOfTheNode) {
  Poster poster;
  poster.show(kCommunicator, 5, 8, 0, {});
  begin(poster, 3, plan::Collective::scatter, 2, 99);
  std::optional<SeenRank> told;
  // What was read a moment ago may be answered once more.
  for (int tries = 0; tries < 1'000'000 && !told; ++tries) {
    Whereabouts text = question_of(kCommunicator, 5);
    if (answer(text)) told = rank_from(text, kCommunicator);
  }
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->rank, 5);
  EXPECT_EQ(told->calls.back().number, 3u);
  EXPECT_EQ(told->calls.back().root, 2);
  Whereabouts text = question_of(kCommunicator, 6);
  EXPECT_FALSE(answer(text));
}

// A process that asks is told by a rank that looks now and then; the answers are shown.
TEST(Board, ShowsWhatARankHasHeardOfOtherNodes) {
  Poster poster;
  poster.show(kCommunicator, 0, 2, 0, {});
  begin(poster, 3, plan::Collective::barrier, 0, 0);
  EXPECT_FALSE(poster.is_asked());
  poster.begin_waits(tag_of(3), "");
  poster.add_wait(WaitKind::recv, kOverDevice, 0, 1, 1, 0);
  poster.end_waits();
  const pid_t self = ::getpid();
  std::atomic<bool> was_asked = false;
  std::thread rank([&] {
    while (!poster.is_asked()) ::sched_yield();
    was_asked = true;
    SeenRank other;
    other.rank = 1;
    other.process.state = 'T';
    const std::array<Whereabouts, 1> answers{answer_of(kCommunicator, other)};
    poster.answer(answers);
  });
  ask_for_other_nodes(std::span(&self, 1));
  rank.join();
  EXPECT_TRUE(was_asked);
  EXPECT_FALSE(poster.is_asked());
  const SeenCommunicator seen = seen_in(self);
  ASSERT_EQ(seen.ranks.size(), 2u);
  EXPECT_EQ(seen.ranks[1].rank, 1);
  EXPECT_TRUE(seen.ranks[1].process.is_stopped());
}

TEST(Board, IsThisUsersAlone) {
  Poster poster;
  poster.show(kCommunicator, 0, 1, 0, {});
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry.path(), gone);
    if (name.find(kLabel) == std::string::npos) continue;
    found = true;
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(status.st_nlink, 0u) << "it has a name that could be left";
  }
  EXPECT_TRUE(found);
}

TEST(Board, IsReadWhileItsProcessIsStoppedAndGoesWithIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  Poster inherited;
  inherited.show(kCommunicator, 0, 3, 0, {});
  const pid_t child = ::fork();
  if (child == 0) {
    Poster poster;
    poster.show(kCommunicator, 1, 3, 0, {});
    begin(poster, 9, plan::Collective::scan, 0, 24);
    [[maybe_unused]] const auto told = ::write(ends[1], "x", 1);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const SeenCommunicator seen = seen_in(child);
  // What it has inherited is its parent's.
  ASSERT_EQ(seen.ranks.size(), 1u);
  EXPECT_EQ(seen.ranks.front().rank, 1);
  EXPECT_TRUE(seen.ranks.front().process.is_stopped());
  EXPECT_EQ(seen.ranks.front().calls.back().number, 9u);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(look(std::span(&child, 1)).empty());
  EXPECT_EQ(process_state({.number = child}).state, 'X');
  EXPECT_EQ(seen_in(::getpid()).ranks.front().rank, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace weft::engine::board::board_test
