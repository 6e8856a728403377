#include "mpi/world/race.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace weft::mpi {

namespace {

// One that takes so many times as long in each of the first calls has lost.
constexpr double kClear = 1.5;
// Stages that do are no match: they are given up sooner, as they never take many times as long.
constexpr double kClearOfStages = 1.1;
// The challenger must take this part of the winner's time, to take its place.
constexpr double kBetter = 0.9;

using Server = Race::Server;

/// Each round begins with a race between weft and another one, so that it is known whether it makes
/// system calls.
Server first_challenger(Server winner) noexcept {
  return winner == Server::weft ? Server::host : Server::weft;
}

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

/// Where ranks have no clock in common the first figure falls with the time.
void Race::add(std::uint64_t arrived, std::uint64_t left, bool one_clock) noexcept {
  Trials& trials = *trials_;
  if (trials.cold != 0) {
    --trials.cold;
    return;
  }
  std::uint64_t* const figures = &trials.figures[1 + 2 * trials.made++];
  if (winner_serves(trials.made) != winner_serves(trials.made - 1)) trials.cold = 1;
  figures[0] = arrived;
  figures[1] = left;
  if (one_clock) return;
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
  const bool is_clear = std::ranges::min(winners) > kClear * std::ranges::max(others) ||
                        std::ranges::min(others) > lost * std::ranges::max(winners);
  if (!is_clear && trials_->wanted < kMost) {
    trials_->wanted = kMost;
    quiet_until_ = 0;
    return;
  }
  trials_.reset();
  const Server left = third(winner_, challenger_);
  if (median(others) < kBetter * median(winners)) winner_ = challenger_;
  const bool may_follow =
      left != Server::stages || (contenders_ == Contenders::all && has_system_calls_);
  if (!is_second_ && may_follow) return begin_second(left);
  end_round();
}

void Race::begin_second(Server challenger) noexcept {
  is_second_ = true;
  challenger_ = challenger;
  next_at_ = challenger == Server::stages ? std::max(calls_, kStagesAfterCalls) : calls_;
  quiet_until_ = winner_ == Server::weft ? next_at_ : 0;
}

void Race::end_round() noexcept {
  is_second_ = false;
  challenger_ = first_challenger(winner_);
  next_at_ = kAgainAfterTimes * calls_;
  quiet_until_ = winner_ == Server::weft ? next_at_ : 0;
}

Races::Races(plan::CollectiveSet not_raced, bool one_clock)
    : not_raced_(not_raced), one_clock_(one_clock) {
  using enum plan::Collective;
  if (one_clock) return;
  for (const plan::Collective left_early :
       {broadcast, scatter, gather, reduce, scan, exscan, alltoallv}) {
    not_raced_.insert(left_early);
  }
}

}  // namespace weft::mpi
