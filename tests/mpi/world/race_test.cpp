// Races beside the truth: servers with known times, ranks that come at random, and noise.
#include "mpi/world/race.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace weft::mpi {
namespace {

using Server = Race::Server;

/// The ranks of a communicator that call one collective again and again.
class Ranks {
 public:
  Ranks(std::size_t ranks, unsigned seed, bool one_clock, double noise)
      : races_(ranks), random_(seed), one_clock_(one_clock), noise_(noise) {
    // Clocks that have nothing in common.
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      clocks_.push_back(one_clock ? 0 : random_() * std::uint64_t{1'000'000});
    }
  }

  /// Returns the server, the same for all ranks, and adds the call's time to `spent`.
  Server call(double weft_ticks, double host_ticks) {
    std::vector<char> ask;
    for (Race& race : races_) ask.push_back(race.count() ? 1 : 0);
    RC_ASSERT(std::ranges::count(ask, ask.front()) == std::ssize(ask));
    if (ask.front() != 0) exchange();
    std::vector<Server> servers;
    for (Race& race : races_) servers.push_back(race.server());
    RC_ASSERT(std::ranges::count(servers, servers.front()) == std::ssize(servers));
    const double right = servers.front() == Server::weft ? weft_ticks : host_ticks;
    const double time = right * (1 + noise_ * std::uniform_real_distribution<>(0, 1)(random_));
    spent += time;
    run(time);
    return servers.front();
  }
  const Race& race() const { return races_.front(); }

  double spent = 0;

 private:
  /// Ranks come within many times the call, and all leave when it is over.
  void run(double time) {
    std::vector<std::uint64_t> arrivals;
    for (std::size_t rank = 0; rank < races_.size(); ++rank)
      arrivals.push_back(random_() % 100'000);
    now_ += 200'000;
    const std::uint64_t end =
        *std::ranges::max_element(arrivals) + static_cast<std::uint64_t>(std::llround(time));
    for (std::size_t rank = 0; rank < races_.size(); ++rank) {
      if (!races_[rank].is_on()) continue;
      const std::uint64_t clock = now_ + clocks_[rank];
      races_[rank].add(clock + arrivals[rank], clock + end, one_clock_);
    }
    now_ += end;
  }
  void exchange() {
    std::vector<std::uint64_t> largest;
    for (const Race& race : races_) {
      const auto mine = race.figures();
      largest.resize(mine.size());
      std::ranges::transform(largest, mine, largest.begin(),
                             [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    }
    for (Race& race : races_) race.learn(largest);
  }

  std::vector<Race> races_;
  std::mt19937 random_;
  bool one_clock_;
  double noise_;
  std::vector<std::uint64_t> clocks_;
  std::uint64_t now_ = 1'000'000'000;
};

RC_GTEST_PROP(Races, EndWithTheFasterServer, ()) {
  const auto ranks = *rc::gen::inRange<std::size_t>(2, 9);
  const double weft = *rc::gen::inRange(100, 1000);
  const double host = *rc::gen::inRange(100, 1000);
  Ranks all(ranks, *rc::gen::arbitrary<unsigned>(), *rc::gen::arbitrary<bool>(), 0.02);
  Server last = Server::weft;
  for (int call = 0; call < 40; ++call) last = all.call(weft, host);
  const double took = last == Server::weft ? weft : host;
  RC_ASSERT(took <= 1.15 * std::min(weft, host));
  RC_ASSERT(last == all.race().winner());
}

RC_GTEST_PROP(Races, CostLittleWhereThereAreManyCalls, ()) {
  const double weft = *rc::gen::inRange(100, 2000);
  const double host = *rc::gen::inRange(100, 2000);
  constexpr int kCalls = 4000;
  Ranks all(4, *rc::gen::arbitrary<unsigned>(), true, 0);
  for (int call = 0; call < kCalls; ++call) all.call(weft, host);
  RC_ASSERT(all.spent <= 1.13 * kCalls * std::min(weft, host));
}

RC_GTEST_PROP(Races, AreRunAgainWhenMachinesChange, ()) {
  const double weft = *rc::gen::inRange(100, 1000);
  const double host = *rc::gen::inRange(100, 1000);
  RC_PRE(std::max(weft, host) > 1.2 * std::min(weft, host));
  const int before = *rc::gen::inRange(40, 400);
  Ranks all(3, *rc::gen::arbitrary<unsigned>(), true, 0.02);
  for (int call = 0; call < before; ++call) all.call(weft, host);
  RC_ASSERT((all.race().winner() == Server::host) == (host < weft));
  for (int call = 0; call < 10 * before + 200; ++call) all.call(host, weft);
  RC_ASSERT((all.race().winner() == Server::host) == (weft < host));
}

RC_GTEST_PROP(Races, AreAskedOfCallsOfOneSizeClass, ()) {
  Races races({}, *rc::gen::arbitrary<bool>());
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 40);
  Race& race = races.of(plan::Collective::broadcast, bytes);
  RC_ASSERT(&race == &races.of(plan::Collective::broadcast, bytes));
  RC_ASSERT(&race != &races.of(plan::Collective::alltoall, bytes));
  RC_ASSERT(&race != &races.of(plan::Collective::broadcast, 2 * bytes));
}

RC_GTEST_PROP(Races, OfFunctionsAreApart, ()) {
  Races races({}, true);
  const auto function = *rc::gen::inRange<std::size_t>(0, Races::kClasses);
  const auto other = *rc::gen::inRange<std::size_t>(0, Races::kClasses);
  Race& race = races.of_function(plan::Collective::alltoallv, function);
  RC_ASSERT((&race == &races.of_function(plan::Collective::alltoallv, other)) ==
            (function == other));
}

TEST(Races, OfCallsThatRanksMayLeaveEarlyNeedOneClock) {
  using enum plan::Collective;
  const Races with({}, true), without({}, false);
  for (const plan::Collective collective : {broadcast, gather, alltoallv}) {
    EXPECT_TRUE(with.may_race(collective));
    EXPECT_FALSE(without.may_race(collective));
  }
  EXPECT_TRUE(without.may_race(alltoall));
}

}  // namespace
}  // namespace weft::mpi
