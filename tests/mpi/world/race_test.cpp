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

using Clock = Race::Clock;
using Server = Race::Server;

/// Ticks of a call by each server.
struct Times {
  double weft, stages, host;
  bool has_system_calls = false;  // weft's, on some rank

  double of(Server server) const {
    if (server == Server::weft) return weft;
    return server == Server::stages ? stages : host;
  }
  double least() const {
    return has_system_calls ? std::min({weft, stages, host}) : std::min(weft, host);
  }
};

Times any_times(int most) {
  return {static_cast<double>(*rc::gen::inRange(100, most)),
          static_cast<double>(*rc::gen::inRange(100, most)),
          static_cast<double>(*rc::gen::inRange(100, most)), *rc::gen::arbitrary<bool>()};
}

Clock any_ticks() {
  return *rc::gen::element(Clock::common, Clock::own);
}

/// The ranks of a communicator that call one collective again and again.
class Ranks {
 public:
  Ranks(std::size_t ranks, unsigned seed, Clock clock, double noise, Server first = Server::weft,
        bool is_late = false)
      : random_(seed), clock_(clock), noise_(noise) {
    // Clocks that have nothing in common.
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const bool has_host = clock != Clock::processor || first == Server::host;
      races_.emplace_back(
          Race::Rules{.contenders = has_host ? Race::Contenders::all : Race::Contenders::no_host,
                      .clock = clock,
                      .first = first,
                      .is_late = is_late});
      clocks_.push_back(clock == Clock::common ? 0 : random_() * std::uint64_t{1'000'000});
    }
  }

  /// Returns the server, the same for all ranks, and adds the call's time to `spent`.
  Server call(const Times& times) {
    // What is said of the call before it is counted.
    bool is_quiet = races_.front().is_quiet(), is_left = races_.front().is_left();
    std::vector<char> ask;
    for (Race& race : races_) ask.push_back(race.count() ? 1 : 0);
    RC_ASSERT(std::ranges::count(ask, ask.front()) == std::ssize(ask));
    if (ask.front() != 0 && to_put_off > 0) return put_off(times);
    if (ask.front() != 0) {
      if (is_put_off_) is_quiet = is_left = false;  // of the call that ends it
      exchange();
    }
    std::vector<Server> servers;
    for (Race& race : races_) servers.push_back(race.server());
    RC_ASSERT(std::ranges::count(servers, servers.front()) == std::ssize(servers));
    const Server server = servers.front();
    const bool is_trial = races_.front().is_on();
    RC_ASSERT(!is_quiet || (server == Server::weft && !is_trial));
    RC_ASSERT(is_left == (server == Server::host && !is_trial && ask.front() == 0));
    const double time =
        times.of(server) * (1 + noise_ * std::uniform_real_distribution<>(0, 1)(random_));
    spent += time;
    run(time, server == Server::weft && times.has_system_calls);
    return server;
  }
  const Race& race() const { return races_.front(); }

  double spent = 0;
  int to_put_off = 0;  // in so many calls ranks do not exchange what they have measured

 private:
  /// Ranks come within many times the call, and all leave when it is over.
  void run(double time, bool has_system_calls) {
    std::vector<std::uint64_t> arrivals;
    for (std::size_t rank = 0; rank < races_.size(); ++rank)
      arrivals.push_back(random_() % 100'000);
    now_ += 200'000;
    const std::uint64_t end =
        *std::ranges::max_element(arrivals) + static_cast<std::uint64_t>(std::llround(time));
    for (std::size_t rank = 0; rank < races_.size(); ++rank) {
      if (!races_[rank].is_on()) continue;
      if (has_system_calls && rank + 1 == races_.size()) races_[rank].add_system_calls();
      const std::uint64_t clock = now_ + clocks_[rank];
      if (clock_ == Clock::processor) {
        // All work alike; those that came early have polled.
        const std::uint64_t polled = rank == 0 ? 0 : arrivals[rank];
        races_[rank].add(clock, clock + static_cast<std::uint64_t>(std::llround(time)) + polled);
        continue;
      }
      races_[rank].add(clock + arrivals[rank], clock + end);
    }
    now_ += end;
  }
  /// The winner so far serves the call, and the next one is known to be its, too.
  Server put_off(const Times& times) {
    --to_put_off;
    is_put_off_ = true;
    const Server server = races_.front().winner();
    for (Race& race : races_) {
      race.put_off();
      RC_ASSERT(race.winner() == server);
      RC_ASSERT(race.is_quiet() == (server == Server::weft));
      RC_ASSERT(race.is_left() == (server == Server::host));
    }
    spent += times.of(server);
    return server;
  }
  void exchange() {
    is_put_off_ = false;
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
  Clock clock_;
  double noise_;
  std::vector<std::uint64_t> clocks_;
  std::uint64_t now_ = 1'000'000'000;
  bool is_put_off_ = false;
};

RC_GTEST_PROP(Races, EndWithTheFastestServer, ()) {
  const auto ranks = *rc::gen::inRange<std::size_t>(2, 9);
  const Times times = any_times(1000);
  Ranks all(ranks, *rc::gen::arbitrary<unsigned>(), any_ticks(), 0.02);
  Server last = Server::weft;
  for (int call = 0; call < 150; ++call) last = all.call(times);
  RC_ASSERT(times.of(last) <= 1.15 * times.least());
  RC_ASSERT(last == all.race().winner());
}

RC_GTEST_PROP(Races, EndSoAlsoWhereTheyArePutOff, ()) {
  const Times times = any_times(1000);
  Ranks all(3, *rc::gen::arbitrary<unsigned>(), any_ticks(), 0.02);
  Server last = Server::weft;
  for (int call = 0; call < 400; ++call) {
    if (call % 50 == 0 && call < 200) all.to_put_off = *rc::gen::inRange(0, 20);
    last = all.call(times);
  }
  RC_ASSERT(times.of(last) <= 1.15 * times.least());
  RC_ASSERT(last == all.race().winner());
}

/// The winner takes up to 1/0.9 of the least time. Stages are not tried before call 96. In three
/// rounds others serve 20 calls: weft 12 with the first ones, stages 8.
RC_GTEST_PROP(Races, CostLittleWhereThereAreManyCalls, ()) {
  const Times times = any_times(2000);
  constexpr int kCalls = 4000;
  Ranks all(4, *rc::gen::arbitrary<unsigned>(), Clock::common, 0);
  for (int call = 0; call < kCalls; ++call) all.call(times);
  const double before_stages = 96 * (std::min(times.weft, times.host) - times.least());
  const double trials = 20 * std::max({times.weft, times.stages, times.host});
  RC_ASSERT(all.spent <= kCalls * times.least() / 0.9 + before_stages + trials);
}

/// Expected are as many calls as there have been. Beside a host that is no match.
RC_GTEST_PROP(Races, WithStagesCostTwoPercentOfTheTimeThatIsExpected, ()) {
  const double weft = *rc::gen::inRange(100, 1000);
  const double stages = weft * *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(30, 185)) / 100;
  const unsigned seed = *rc::gen::arbitrary<unsigned>();
  const double noise = 0.01 * *rc::gen::inRange(0, 3);
  Ranks with(3, seed, Clock::common, noise), without(3, seed, Clock::common, noise);
  for (int call = 1; call < 1000; ++call) {
    with.call({weft, stages, 2 * weft, true});
    without.call({weft, stages, 2 * weft, false});
    RC_ASSERT(with.spent - without.spent <= 0.02 * 2 * (1 + noise) * call * weft);
  }
}

RC_GTEST_PROP(Races, TryStagesInPlaceOfSystemCallsOnly, ()) {
  Times times = any_times(1000);
  times.has_system_calls = false;
  Ranks all(3, *rc::gen::arbitrary<unsigned>(), any_ticks(), 0.02);
  for (int call = 0; call < 2000; ++call) RC_ASSERT(all.call(times) != Server::stages);
}

RC_GTEST_PROP(Races, AreRunAgainWhenMachinesChange, ()) {
  const Times first = any_times(1000), then = any_times(1000);
  const int before = *rc::gen::inRange(120, 400);
  Ranks all(3, *rc::gen::arbitrary<unsigned>(), Clock::common, 0.02);
  for (int call = 0; call < before; ++call) all.call(first);
  for (int call = 0; call < 10 * before + 200; ++call) all.call(then);
  RC_ASSERT(then.of(all.race().winner()) <= 1.15 * then.least());
}

RC_GTEST_PROP(Races, AreAskedOfCallsOfOneSizeClass, ()) {
  Races races({}, any_ticks(), false);
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 40);
  const Race* const race = races.of(plan::Collective::broadcast, bytes);
  RC_ASSERT(race != nullptr);
  RC_ASSERT(race == races.of(plan::Collective::broadcast, bytes));
  RC_ASSERT(race != races.of(plan::Collective::alltoall, bytes));
  RC_ASSERT(race != races.of(plan::Collective::broadcast, 2 * bytes));
}

RC_GTEST_PROP(Races, OfFunctionsAreApart, ()) {
  Races races({}, Clock::common, false);
  const auto function = *rc::gen::inRange<std::size_t>(0, Races::kClasses);
  const auto other = *rc::gen::inRange<std::size_t>(0, Races::kClasses);
  Race& race = races.of_function(plan::Collective::alltoallv, function);
  RC_ASSERT((&race == &races.of_function(plan::Collective::alltoallv, other)) ==
            (function == other));
}

TEST(Races, OfCallsThatRanksMayLeaveEarlyNeedOneClock) {
  using enum plan::Collective;
  const Races with({}, Clock::common, false), without({}, Clock::own, false);
  for (const plan::Collective collective : {broadcast, gather, alltoallv}) {
    EXPECT_TRUE(with.may_race(collective));
    EXPECT_FALSE(without.may_race(collective));
  }
  EXPECT_TRUE(without.may_race(alltoall));
}

RC_GTEST_PROP(Races, OfRanksThatShareCoresAreBetweenWeftAndStages, ()) {
  const Times times = any_times(1000);
  Ranks all(*rc::gen::inRange<std::size_t>(2, 9), *rc::gen::arbitrary<unsigned>(), Clock::processor,
            0.02, Server::weft, true);
  const int calls = *rc::gen::inRange(300, 5000);
  for (int call = 1; call <= calls; ++call) {
    const Server server = all.call(times);
    RC_ASSERT(server != Server::host);
    RC_ASSERT(server == Server::weft || (times.has_system_calls && call >= 256));
  }
  RC_ASSERT(times.of(all.race().winner()) <=
            1.15 * (times.has_system_calls ? std::min(times.weft, times.stages) : times.weft));
}

RC_GTEST_PROP(Races, OfCallsThatAreLikeTheHostsBeginWithTheHost, ()) {
  Times times = any_times(1000);
  times.has_system_calls = true;
  const Clock clock = *rc::gen::element(Clock::common, Clock::own, Clock::processor);
  Ranks all(3, *rc::gen::arbitrary<unsigned>(), clock, 0.02, Server::host, true);
  const int first_trial = clock == Clock::processor ? 256 : 96;
  for (int call = 1; call < first_trial + 200; ++call) {
    const Server server = all.call(times);
    RC_ASSERT(server == Server::host || call >= first_trial);
  }
  RC_ASSERT(times.of(all.race().winner()) <= 1.15 * times.least());
}

TEST(Races, OfLongAlltoallsMayBeginWithTheHost) {
  using enum plan::Collective;
  Races like({}, Race::Clock::common, true), unlike({}, Race::Clock::common, false);
  EXPECT_EQ(like.of(alltoall, 64 << 10)->winner(), Server::host);
  EXPECT_EQ(like.of(alltoall, (64 << 10) - 1)->winner(), Server::weft);
  EXPECT_EQ(like.of(allgather, 64 << 10)->winner(), Server::weft);
  EXPECT_EQ(unlike.of(alltoall, 64 << 10)->winner(), Server::weft);
}

TEST(Races, OfRanksThatShareCoresAreOfLongAlltoalls) {
  using enum plan::Collective;
  plan::CollectiveSet wanted;
  wanted.insert(alltoall);
  Races races({}, Clock::processor, false);
  const Races without(wanted, Clock::processor, false);
  EXPECT_TRUE(races.may_race(alltoall));
  EXPECT_FALSE(races.may_race(allgather));
  EXPECT_FALSE(without.may_race(alltoall));
  EXPECT_EQ(races.of(alltoall, (64 << 10) - 1), nullptr);
  EXPECT_NE(races.of(alltoall, 64 << 10), nullptr);
}

}  // namespace
}  // namespace weft::mpi
