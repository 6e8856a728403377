#include "mpi/world/race.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace weft::mpi {

namespace {

// One that takes so many times as long in each of the first calls has lost.
constexpr double kClear = 1.5;
// The other server must take this part of the winner's time, to take its place.
constexpr double kBetter = 0.9;

using Server = Race::Server;

Server other_than(Server server) noexcept {
  return server == Server::weft ? Server::host : Server::weft;
}

/// Of a timed call. First the one, then twice the other, and so on: programs that alternate between
/// two sizes do so for both.
bool is_of_winner(std::size_t trial) noexcept {
  return (trial + 1) / 2 % 2 == 0;
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

Server Race::Trials::server(Server winner) const noexcept {
  if (!is_warm) return other_than(winner);
  return is_of_winner(made) ? winner : other_than(winner);
}

/// Where ranks have no clock in common the first figure falls with the time.
void Race::add(std::uint64_t arrived, std::uint64_t left, bool one_clock) noexcept {
  Trials& trials = *trials_;
  if (!trials.is_warm) {
    trials.is_warm = true;
    return;
  }
  std::uint64_t* const figures = &trials.figures[2 * trials.made++];
  figures[0] = arrived;
  figures[1] = left;
  if (one_clock) return;
  figures[0] = std::numeric_limits<std::uint64_t>::max() - (left - arrived);
  figures[1] = std::numeric_limits<std::uint64_t>::max();
}

std::span<const std::uint64_t> Race::figures() const noexcept {
  return std::span(trials_->figures).first(2 * trials_->made);
}

void Race::learn(std::span<const std::uint64_t> largest) {
  std::vector<double> winners, others;
  for (std::size_t trial = 0; 2 * trial + 1 < largest.size(); ++trial) {
    const auto time = static_cast<double>(std::max<std::int64_t>(
        static_cast<std::int64_t>(largest[2 * trial + 1] - largest[2 * trial]), 1));
    (is_of_winner(trial) ? winners : others).push_back(time);
  }
  const bool is_clear = std::ranges::min(winners) > kClear * std::ranges::max(others) ||
                        std::ranges::min(others) > kClear * std::ranges::max(winners);
  if (!is_clear && trials_->wanted < kMost) {
    trials_->wanted = kMost;
    return;
  }
  if (median(others) < kBetter * median(winners)) winner_ = other_than(winner_);
  next_at_ = kAgainAfterTimes * calls_;
  trials_.reset();
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
