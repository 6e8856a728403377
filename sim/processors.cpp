#include "sim/processors.hpp"

#include <algorithm>
#include <limits>

namespace weft::sim {

namespace {
// A rank that waits for neighbours sleeps after so many yields, as engine::Executor does where
// ranks outnumber cores.
constexpr Time kYields = 200;
constexpr Time kForEver = std::numeric_limits<Time>::max() / 4;
}  // namespace

Processors::Processors(const hierarchy::Machine& machine, const Host& host)
    : switch_(to_time(host.switch_ns)) {
  if (host.cores <= 0) return;
  const int nodes_a_host = std::max(1, host.nodes);
  const int hosts = (machine.nodes() + nodes_a_host - 1) / nodes_a_host;
  std::vector<int> dealt(static_cast<std::size_t>(hosts));
  seats_.resize(static_cast<std::size_t>(machine.ranks()));
  cores_.resize(static_cast<std::size_t>(hosts) * host.cores);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const int on = machine.node_of(rank) / nodes_a_host;
    seats_[rank].core = on * host.cores + dealt[on]++ % host.cores;
    cores_[seats_[rank].core].ranks.push_back(rank);
  }
  for (Seat& seat : seats_) seat.has_own_core = cores_[seat.core].ranks.size() == 1;
  const auto shared = [](const Core& core) { return core.ranks.size() > 1; };
  if (std::ranges::none_of(cores_, shared)) cores_.clear();
}

/// Divides `time` among the ranks that poll: those that have used least get it first, until they
/// have used as much as the next.
void Processors::share_out(Core& core, Time time) {
  while (time > 0) {
    Time least = kForEver, next = kForEver, most = kForEver;
    Time count = 0;
    for (const int rank : core.ranks) {
      const Seat& seat = seats_[rank];
      if (seat.wants || seat.polls == 0) continue;
      if (seat.used < least) {
        next = least;
        least = seat.used;
        count = 0;
        most = kForEver;
      } else if (seat.used > least) {
        next = std::min(next, seat.used);
      }
      if (seat.used == least) {
        ++count;
        most = std::min(most, seat.polls);
      }
    }
    if (count == 0) return;
    const Time each = std::max<Time>(1, std::min({next - least, most, time / count}));
    for (const int rank : core.ranks) {
      Seat& seat = seats_[rank];
      if (seat.wants || seat.polls == 0 || seat.used != least) continue;
      seat.used += each;
      if (seat.polls != kForEver) seat.polls -= std::min(each, seat.polls);
    }
    time -= each * count;
  }
}

/// The next turn: of the ranks with work the one that has used least of the core, once those that
/// poll have used as much.
std::optional<Processors::Turn> Processors::choose(int number, Time now) {
  Core& core = cores_[number];
  core.chosen = -1;
  for (const int rank : core.ranks) {
    if (!seats_[rank].wants) continue;
    if (core.chosen < 0 || seats_[rank].used < seats_[core.chosen].used) core.chosen = rank;
  }
  core.since = now;
  if (core.chosen < 0) return std::nullopt;
  Time at = now;
  for (const int rank : core.ranks) {
    const Seat& seat = seats_[rank];
    if (seat.wants) continue;
    at += std::clamp<Time>(seats_[core.chosen].used - seat.used, 0, seat.polls);
  }
  const bool changes = core.last >= 0 && (core.chosen != core.last || at > now);
  if (changes) at += switch_;
  return Turn{number, ++core.turns, at};
}

std::optional<Processors::Turn> Processors::request(int rank, Time now) {
  Seat& seat = seats_[rank];
  if (seat.wants) return std::nullopt;
  Core& core = cores_[seat.core];
  if (core.running < 0) share_out(core, now - core.since);
  seat.wants = true;
  if (core.running >= 0) return std::nullopt;
  return choose(seat.core, now);
}

int Processors::begin(int number, std::uint32_t turn, Time now) {
  Core& core = cores_[number];
  if (turn != core.turns || core.chosen < 0) return -1;
  share_out(core, now - core.since);
  core.running = core.last = core.chosen;
  core.chosen = -1;
  core.since = now;
  seats_[core.running].wants = false;
  return core.running;
}

std::optional<Processors::Turn> Processors::yield(int rank, Waiting waiting, Time now) {
  Seat& seat = seats_[rank];
  if (seat.has_own_core) return std::nullopt;
  Core& core = cores_[seat.core];
  seat.used += now - core.since;
  seat.polls = waiting == Waiting::network      ? kForEver
               : waiting == Waiting::neighbours ? kYields * switch_
                                                : 0;
  core.running = -1;
  return choose(seat.core, now);
}

}  // namespace weft::sim
