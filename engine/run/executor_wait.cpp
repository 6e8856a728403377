// The waiting half of the executor: turns of idleness, looking after peers, giving up.
#include <sched.h>

#include <algorithm>

#include "base/error.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

namespace {

// A waiting rank with a core of its own looks at the clock every so many turns.
constexpr std::uint32_t kTurnsPerLook = 1024;
constexpr std::uint32_t kSpinTurns = 2048;
constexpr std::uint32_t kTurnsPerYield = 32;
// Where ranks outnumber cores: how often a rank gives its core away before it sleeps.
constexpr std::uint32_t kCrowdedYields = 200;
// A wait this long may be for a rank that itself waits for what only progress() gives it. Then a
// rank with a core of its own calls it often; one that sleeps wakes up for it.
constexpr std::int64_t kProgressAfter_ns = 1'000'000;
constexpr std::int64_t kProgressEvery_ns = 20'000;
constexpr int kPieces = 4;  // of a large message of the host's, at a time
constexpr std::int64_t kSleepAtMost_ns = 1'000'000;
constexpr std::int64_t kLookEvery_ns = 20'000'000;
constexpr std::int64_t kProbeEvery_ns = 1'000'000'000;

}  // namespace

bool Executor::idle() noexcept {
  ++idle_turns_;
  if (idle_turns_ == 1) {
    idle_since_ns_ = 0;
    return true;
  }
  if (!crowded_) {
    relax();
    // A wait this long is no longer about latency, and others may want the core.
    if (idle_turns_ > kSpinTurns && idle_turns_ % kTurnsPerYield == 0) ::sched_yield();
    return idle_turns_ % kTurnsPerLook != 0 || look_around();
  }
  // The core goes to the neighbours first: what this rank waits for is what they are about to do,
  // and a turn of all of them is over sooner than a sleep.
  if (idle_turns_ < kCrowdedYields) {
    bool moved = false;
    if (meanwhile_.turn && !outside([&] { moved = meanwhile_.turn(); })) return false;
    if (!moved) ::sched_yield();
    return true;
  }
  sleep();
  return look_around();
}

void Executor::sleep() noexcept {
  const bool all_entered = under_way_.back()->has_entered();
  if (remote_active() != 0 || node_ == nullptr || !all_entered) {
    ::sched_yield();
    return;
  }
  // Only neighbours can end this wait, and they ring.
  const int place = under_way_.size() == 1 ? under_way_.front()->awaited_place() : -1;
  const std::uint32_t who = place >= 0 ? static_cast<std::uint32_t>(place) + 1 : Doorbell::kAnyone;
  node_->doorbell(node_->place()).sleep(who, kSleepAtMost_ns, [this]() noexcept {
    return progress();
  });
}

std::size_t Executor::remote_active() const noexcept {
  std::size_t active = 0;
  for (const auto& execution : under_way_) active += execution->remote_active();
  return active;
}

bool Executor::look_around() noexcept {
  const std::int64_t now = now_ns();
  if (idle_since_ns_ == 0) {
    idle_since_ns_ = now;
    next_progress_ns_ = now + kProgressAfter_ns;
    next_look_ns_ = now + kLookEvery_ns;
    next_probe_ns_ = now + kProbeEvery_ns;
    return true;
  }
  if (now >= next_progress_ns_) {
    next_progress_ns_ = now + kProgressEvery_ns;
    for (int piece = 0; piece < kPieces; ++piece) {
      if (!outside(meanwhile_.progress)) return false;
    }
  }
  if (now < next_look_ns_) return true;
  next_look_ns_ = now + kLookEvery_ns;
  if (!look_after_peers(now)) return false;
  return timeout_ns_ == 0 || now - idle_since_ns_ <= timeout_ns_ || time_out(now);
}

/// Whoever knows of a rank that has not come says so at once. The others wait half as long again
/// for word of it, and twice as long where they wait for neighbours only, who have come: what they
/// wait for may itself only wait.
bool Executor::time_out(std::int64_t now) noexcept {
  const auto say = [this](std::string_view what) {
    fail(fmt::format("WEFT_TIMEOUT: {} s without progress; {}", timeout_ns_ / 1'000'000'000, what));
    return false;
  };
  for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
    const std::uint64_t awaited = oldest();
    if (node_->entered_by(place) >= awaited) continue;
    return say(fmt::format("rank {} has not come to execution {}, where rank {} waits",
                           node_->rank_at(place), awaited, rank_));
  }
  const std::int64_t more_ns = remote_active() != 0 ? timeout_ns_ / 2 : timeout_ns_;
  return now - idle_since_ns_ <= timeout_ns_ + more_ns || say(where());
}

bool Executor::look_after_peers(std::int64_t now) noexcept {
  if (node_ != nullptr) {
    for (int place = 0; place < node_->places(); ++place) {
      if (place == node_->place()) continue;
      if (const char* said = node_->abort_of(place)) {
        fail(said);
        return false;
      }
    }
    if (const int dead = node_->find_dead(started_); dead >= 0) {
      fail(fmt::format("rank {} (process {} of this node) has ended in the middle of a collective",
                       node_->rank_at(dead), node_->process_of(dead)));
      return false;
    }
  }
  // Whoever gave up may be one from whom this rank needs nothing more.
  for (std::size_t rank = 0; rank < links_.ranks(); ++rank) {
    const verbs::Channel* channel = links_.channel(static_cast<int>(rank));
    const char* said = channel == nullptr ? nullptr : channel->peer_abort();
    if (said == nullptr) continue;
    fail(said);
    return false;
  }
  const bool probes = now >= next_probe_ns_;
  if (probes) {
    next_probe_ns_ = now + kProbeEvery_ns;
    for (const auto& execution : under_way_) execution->probe_peers();
  }
  links_.tend();
  // Not more often, although a connection is broken perhaps because its peer is gone: a rank that
  // has come to its end in peace looks the same to the bootstrap.
  return !probes || outside(meanwhile_.check);
}

Executor::Help Executor::help() noexcept {
  if (!failure_.empty()) return Help::nothing_under_way;
  is_helped_ = true;
  bool moved = progress();
  const bool waits = !under_way_.empty() && failure_.empty();
  if (waits && !moved) {
    const std::int64_t now = now_ns();
    if (now >= next_look_ns_) {
      next_look_ns_ = now + kLookEvery_ns;
      moved = !look_after_peers(now);
    }
  }
  is_helped_ = false;
  if (!waits) return Help::nothing_under_way;
  return moved ? Help::moved : Help::nothing_moved;
}

/// What the caller brought is for the caller's thread alone.
bool Executor::outside(const std::function<void()>& call) noexcept {
  try {
    if (call && !is_helped_) call();
    return true;
  } catch (const std::exception& error) {
    fail(error.what());
    return false;
  }
}

std::string Executor::where() const {
  std::string text = fmt::format("rank {} in its execution {}", rank_, oldest());
  for (const auto& execution : under_way_) text += execution->where();
  return text;
}

void Executor::fail(std::string text) noexcept {
  if (!failure_.empty()) return;
  failure_ = std::move(text);
  links_.abandon();
  tell_peers();
}

void Executor::tell_peers() noexcept {
  if (node_ != nullptr) node_->abort(failure_.c_str());
  for (std::size_t rank = 0; rank < links_.ranks(); ++rank) {
    if (verbs::Channel* channel = links_.channel(static_cast<int>(rank))) {
      channel->abort(failure_.c_str());
    }
  }
}

}  // namespace weft::engine
