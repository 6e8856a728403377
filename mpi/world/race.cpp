#include "mpi/world/race.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <vector>

#include "tune/candidates.hpp"

namespace weft::mpi {

namespace {

// One that takes so many times as long in each of the first calls has lost.
constexpr double kClear = 1.5;
// Stages that do are no match: they are given up sooner, as they never take many times as long.
constexpr double kClearOfStages = 1.1;
// The challenger must take this part of the winner's time, to take its place.
constexpr double kBetter = 0.9;

// Of a block: calls with shorter ones take a microsecond or two between ranks that have cores.
constexpr std::uint64_t kShortBytes = 2 << 10;

using Server = Race::Server;

Server third(Server one, Server other) noexcept {
  for (const Server server : {Server::weft, Server::stages}) {
    if (server != one && server != other) return server;
  }
  return Server::host;
}

/// Of a timed call: two by the challenger, two by the winner, four by the one, four by the other.
bool winner_serves(std::size_t trial) noexcept {
  return trial < 4 ? trial >= 2 : trial >= 8;
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

bool Race::Trials::is_of_winner() const noexcept {
  return winner_serves(made);
}

Race::Race(const Rules& rules) noexcept
    : contenders_(rules.contenders),
      clock_(rules.clock),
      winner_(rules.first),
      challenger_(first_challenger()) {
  if (rules.is_late) next_at_ = stages_after_calls();
  quiet_until_ = winner_ == Server::weft ? next_at_ : 0;
}

/// Where ranks have no clock in common the first figure falls with the time.
void Race::add(std::uint64_t arrived, std::uint64_t left) noexcept {
  Trials& trials = *trials_;
  if (trials.cold != 0) {
    --trials.cold;
    return;
  }
  std::uint64_t* const figures = &trials.figures[1 + 2 * trials.made++];
  if (winner_serves(trials.made) != winner_serves(trials.made - 1)) trials.cold = 1;
  figures[0] = arrived;
  figures[1] = left;
  if (clock_ == Clock::common) return;
  figures[0] = std::numeric_limits<std::uint64_t>::max() - (left - arrived);
  figures[1] = std::numeric_limits<std::uint64_t>::max();
}

std::span<const std::uint64_t> Race::figures() const noexcept {
  return std::span(trials_->figures).first(1 + 2 * trials_->made);
}

void Race::learn(std::span<const std::uint64_t> largest) {
  is_put_off_ = false;
  const bool weft_ran = winner_ == Server::weft || challenger_ == Server::weft;
  if (weft_ran) has_system_calls_ = largest.front() != 0;
  std::vector<double> winners, others;
  const auto times = largest.subspan(1);
  for (std::size_t trial = 0; 2 * trial + 1 < times.size(); ++trial) {
    const auto time = static_cast<double>(std::max<std::int64_t>(
        static_cast<std::int64_t>(times[2 * trial + 1] - times[2 * trial]), 1));
    (winner_serves(trial) ? winners : others).push_back(time);
  }
  const double lost = challenger_ == Server::stages ? kClearOfStages : kClear;
  const bool is_alone = winner_ == challenger_;
  const bool is_clear = is_alone || std::ranges::min(winners) > kClear * std::ranges::max(others) ||
                        std::ranges::min(others) > lost * std::ranges::max(winners);
  if (!is_clear && trials_->wanted < kMost) {
    trials_->wanted = kMost;
    quiet_until_ = 0;
    return;
  }
  trials_.reset();
  const Server left = third(winner_, challenger_);
  if (median(others) < kBetter * median(winners)) winner_ = challenger_;
  if (!is_second_ && may_be_second(left)) return begin_second(left);
  end_round();
}

std::uint64_t Race::stages_after_calls() const noexcept {
  return clock_ == Clock::processor ? kStagesOfCrowdedAfterCalls : kStagesAfterCalls;
}

/// Each round begins with weft and another one, so that it is known whether weft makes system
/// calls; or, where there is none, with weft alone.
Server Race::first_challenger() const noexcept {
  const bool is_host = winner_ == Server::weft && contenders_ != Contenders::no_host;
  return is_host ? Server::host : Server::weft;
}

bool Race::may_be_second(Server challenger) const noexcept {
  if (challenger == Server::host) return contenders_ != Contenders::no_host;
  if (challenger == Server::weft) return true;
  return contenders_ != Contenders::without_stages && has_system_calls_;
}

void Race::begin_second(Server challenger) noexcept {
  is_second_ = true;
  challenger_ = challenger;
  next_at_ = challenger == Server::stages ? std::max(calls_, stages_after_calls()) : calls_;
  quiet_until_ = winner_ == Server::weft ? next_at_ : 0;
}

void Race::end_round() noexcept {
  is_second_ = false;
  challenger_ = first_challenger();
  next_at_ = kAgainAfterTimes * calls_;
  quiet_until_ = winner_ == Server::weft ? next_at_ : 0;
}

std::uint64_t Trial::now() const noexcept {
  if (race_->clock() != Race::Clock::processor) return comm::Stopwatch::ticks();
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

Race::Rules Races::rules_for(plan::Collective collective,
                             std::uint64_t block_bytes) const noexcept {
  Race::Rules rules{.clock = clock_};
  const bool has_host = clock_ != Race::Clock::processor || like_host_;
  if (!has_host) rules.contenders = Race::Contenders::no_host;
  const bool is_by_calls =
      like_host_ && collective == plan::Collective::alltoall && is_long(block_bytes);
  if (is_by_calls) rules.first = Race::Server::host;
  rules.is_late = is_by_calls || !has_host || block_bytes < kShortBytes;
  return rules;
}

/// For an alltoall.
bool Races::is_long(std::uint64_t block_bytes) noexcept {
  return block_bytes >= tune::kLongForCalls;
}

Races::Races(plan::CollectiveSet not_raced, Race::Clock clock, bool like_host)
    : not_raced_(not_raced), clock_(clock), like_host_(like_host) {
  using enum plan::Collective;
  if (clock == Race::Clock::common) return;
  if (clock == Race::Clock::processor) {
    not_raced_ = plan::CollectiveSet::all();
    if (!not_raced.contains(alltoall)) not_raced_.erase(alltoall);
    return;
  }
  for (const plan::Collective left_early :
       {broadcast, scatter, gather, reduce, scan, exscan, alltoallv}) {
    not_raced_.insert(left_early);
  }
}

}  // namespace weft::mpi
