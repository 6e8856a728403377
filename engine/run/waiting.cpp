// The executor's waiting: spinning, sleeping, checks of the peers, timeouts, and failure.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/give_way.hpp"
#include "engine/board/reading.hpp"
#include "engine/run/executor.hpp"
#include "kernels/operation_name.hpp"

namespace weft::engine {

namespace {

// A waiting rank with a core of its own reads the clock every so many turns.
constexpr std::uint32_t kTurnsPerLook = 1024;
constexpr std::uint32_t kSpinTurns = 2048;
constexpr std::uint32_t kTurnsPerYield = 32;
// Where ranks outnumber cores: how often a rank gives its core away before it sleeps. It is woken
// once for each neighbour that it waits for, which costs a program more than turns do: with 200 of
// them cp.x took 7 % longer than plain, with 8 ranks on 2 cores.
constexpr std::uint32_t kCrowdedYields = 4000;
// And between sleeps: a rank that sleeps does not move the host on.
constexpr std::uint32_t kYieldsBetweenSleeps = 64;
// Other processes may keep a core for milliseconds that was given away: so often as this a rank
// reads the clock then, whatever its number of turns says.
constexpr std::uint32_t kYieldsPerLook = 8;
// The rank that is waited for may itself wait for work in WhileWaiting::progress(): for a piece of
// a large message of the host MPI, or one of many accesses to a window of it, each of which takes
// less than a microsecond. So a waiting rank with a core of its own calls it after some
// microseconds and every few then, and nearly as often as the host alone would once the wait is a
// long one. Where ranks outnumber cores it does so each time before it gives its core away, after
// the first turns.
constexpr std::uint32_t kTurnsBeforeProgress = 128;
constexpr std::uint32_t kTurnsPerProgress = 64;
constexpr std::uint32_t kTurnsPerProgressInLong = 8;
constexpr std::uint32_t kCrowdedTurnsBeforeProgress = 64;
constexpr std::int64_t kLongWait_ns = 5'000'000;
constexpr std::int64_t kSleepAtMost_ns = 100'000;
constexpr std::int64_t kLookEvery_ns = 20'000'000;
constexpr std::int64_t kProbeEvery_ns = 1'000'000'000;
// A wait this long is no short one: from then on it is counted what missing ranks compute.
constexpr std::int64_t kMissedAfter_ns = 300'000'000;
constexpr std::int64_t kReportTakes_ns = 5'000'000'000;
// On a fiber: its program computed meanwhile, and did not wait.
constexpr std::int64_t kComputed_ns = 20'000'000;

}  // namespace

bool Executor::idle() noexcept {
  ++wait_.turns;
  if (wait_.turns == 1) {
    wait_.since_ns = 0;
    return true;
  }
  if (gives_way()) {
    let_others_run();
    return do_timed_work();
  }
  if (!crowded_) {
    relax();
    const bool is_long = wait_.turns > kSpinTurns;
    const bool moves_host =
        wait_.turns >= kTurnsBeforeProgress &&
        wait_.turns % (is_long ? kTurnsPerProgressInLong : kTurnsPerProgress) == 0;
    if (moves_host && !call_caller(meanwhile_.progress)) return false;
    // A wait this long is no longer about latency, and others may want the core.
    if (!is_long) return wait_.turns % kTurnsPerLook != 0 || do_timed_work();
    if (wait_.turns % kTurnsPerYield == 0) ::sched_yield();
    return wait_.turns % (std::uint64_t{kTurnsPerYield} * kYieldsPerLook) != 0 || do_timed_work();
  }
  // The core goes to the neighbours first: what this rank waits for is what they are about to do,
  // and a turn of all of them is over sooner than a sleep.
  if (wait_.turns < kCrowdedYields) {
    if (!give_core_away()) return false;
    return wait_.turns % kYieldsPerLook != 0 || !has_waited_long() || do_timed_work();
  }
  sleep();
  wait_.turns = kCrowdedYields - kYieldsBetweenSleeps;
  return do_timed_work();
}

/// After the first turns the host is moved on each time.
bool Executor::give_core_away() noexcept {
  bool moved = false;
  const bool is_short = wait_.turns < kCrowdedTurnsBeforeProgress;
  const bool is_good = is_short ? call_caller([&] { moved = meanwhile_.turn && meanwhile_.turn(); })
                                : call_caller(meanwhile_.progress);
  if (!moved) ::sched_yield();
  return is_good;
}

/// On a fiber. What its program does outside MPI for long is no wait of its call.
void Executor::let_others_run() noexcept {
  const std::int64_t left = now_ns();
  meanwhile_.give_way();
  const std::int64_t away = now_ns() - left;
  if (away > kComputed_ns && wait_.since_ns != 0) wait_.since_ns += away;
}

/// Reads the clock: whether this wait is longer than one in which ranks of a core take turns.
bool Executor::has_waited_long() noexcept {
  if (wait_.since_ns == 0) {
    do_timed_work();  // begins to count
    return false;
  }
  return now_ns() - wait_.since_ns > kLongWait_ns;
}

void Executor::sleep() noexcept {
  const auto& under_way = executions_.under_way();
  const bool all_entered = under_way.back()->has_entered();
  if (remote_active() != 0 || node_ == nullptr || !all_entered) {
    ::sched_yield();
    return;
  }
  // Only neighbours can end this wait, and they ring the doorbell.
  const int place = under_way.size() == 1 ? under_way.front()->awaited_place() : -1;
  const std::uint32_t ringer =
      place >= 0 ? static_cast<std::uint32_t>(place) + 1 : Doorbell::kAnyone;
  node_->doorbell(node_->place()).sleep(ringer, kSleepAtMost_ns, [this]() noexcept {
    return progress();
  });
}

std::size_t Executor::remote_active() const noexcept {
  std::size_t active = 0;
  for (const auto& execution : executions_.under_way()) active += execution->remote_active();
  return active;
}

bool Executor::do_timed_work() noexcept {
  const std::int64_t now = now_ns();
  if (wait_.since_ns == 0) {
    wait_.since_ns = now;
    wait_.next_look_ns = now + kLookEvery_ns;
    wait_.next_probe_ns = now + kProbeEvery_ns;
    return true;
  }
  if (now < wait_.next_look_ns) return true;
  wait_.next_look_ns = now + kLookEvery_ns;
  if (!check_peers(now)) return false;
  return timeout_ns_ == 0 || now - wait_.since_ns <= timeout_ns_ || time_out(now);
}

/// Fails at once when a rank of this node has not made its call. Otherwise another rank may be
/// about to report such a rank: this one waits half as long again, or, when it waits for neighbours
/// only, which have all made their calls and may themselves only wait, as long again.
bool Executor::time_out(std::int64_t now) noexcept {
  const auto say = [&](std::string_view what) {
    if (node_ == nullptr || node_->claim_report()) {
      call_caller(meanwhile_.report);
    } else if (now - wait_.since_ns <= 2 * timeout_ns_ + kReportTakes_ns) {
      return true;  // a neighbour writes the report for all, and fails then
    }
    poison(
        fmt::format("WEFT_TIMEOUT: {} s without progress; {}", timeout_ns_ / 1'000'000'000, what));
    return false;
  };
  for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
    const std::uint64_t awaited = oldest();
    if (node_->entered_by(place) >= awaited) continue;
    return say(fmt::format("rank {} has not come to execution {}, where rank {} waits",
                           node_->rank_at(place), awaited, rank_));
  }
  const std::int64_t more_ns = remote_active() != 0 ? timeout_ns_ / 2 : timeout_ns_;
  return now - wait_.since_ns <= timeout_ns_ + more_ns || say(describe_waits());
}

/// Writes down what this rank waits for, as others see it.
void Executor::post_waits(std::int64_t now) noexcept {
  if (is_idle()) return;
  const Execution& first = *executions_.under_way().front();
  const Operation* operation = first.buffers().operation;
  const bool reduces = operation != nullptr && is_reduction(first.prepared().call.collective);
  poster_.begin_waits(first.tag().word(), reduces ? kernels::words_for(*operation) : std::string());
  if (first.has_entered()) {
    first.post_waits(poster_);
  } else {
    for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
      if (place == node_->place() || node_->completed_by(place) + 2 >= first.number()) continue;
      poster_.add_wait(board::WaitKind::entry, 0, 0, node_->rank_at(place), 0, 0);
    }
  }
  poster_.end_waits();
  const bool is_long = wait_.since_ns != 0 && now - wait_.since_ns >= kMissedAfter_ns;
  if (is_long) poster_.note_cpu(last_call_.arrived_ticks);
}

bool Executor::check_peers(std::int64_t now) noexcept {
  post_waits(now);
  if (poster_.is_asked() && !call_caller(meanwhile_.answer)) return false;
  if (node_ != nullptr) {
    for (int place = 0; place < node_->places(); ++place) {
      if (place == node_->place()) continue;
      if (const char* said = node_->abort_of(place)) {
        poison(said);
        return false;
      }
    }
    if (const int dead = node_->find_dead(entry_.last()); dead >= 0) {
      poison(
          fmt::format("rank {} (process {} of this node) has ended in the middle of a collective",
                      node_->rank_at(dead), node_->process_of(dead).number));
      return false;
    }
  }
  // A rank that has failed may be one from which this rank needs nothing more.
  for (std::size_t rank = 0; rank < links_.ranks(); ++rank) {
    const verbs::Channel* channel = links_.channel(static_cast<int>(rank));
    const auto said = channel == nullptr ? std::nullopt : channel->peer_abort();
    if (!said) continue;
    poison(std::string(*said));
    return false;
  }
  if (!check_calls()) return false;
  const bool probes = now >= wait_.next_probe_ns;
  if (probes) {
    wait_.next_probe_ns = now + kProbeEvery_ns;
    for (const auto& execution : executions_.under_way()) execution->probe_peers();
  }
  links_.poll_device();
  // Not more often, even when a connection is broken, perhaps because its peer is gone: to some
  // bootstraps a rank that has ended normally looks the same.
  return !probes || call_caller(meanwhile_.check);
}

/// Looks for peers that have gone another way than this rank, which waits.
bool Executor::check_calls() noexcept {
  if (is_idle()) return true;
  Execution& oldest = *executions_.under_way().front();
  for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
    if (place == node_->place()) continue;
    const bool is_there = node_->entered_by(place) >= oldest.number();
    const CallTag call = is_there ? node_->call_of(place, oldest.number()) : CallTag();
    if (!check_call_of(node_->rank_at(place), call)) return false;
  }
  for (std::size_t peer = 0; peer < links_.ranks(); ++peer) {
    const int rank = static_cast<int>(peer);
    verbs::Channel* channel = links_.is_local(rank) ? nullptr : links_.channel(rank);
    if (channel == nullptr) continue;
    const CallTag call = CallTag::of(channel->peer_call());
    if (!check_call_of(rank, call)) return false;
    // It waits for this rank in an earlier call, which is over here: it is told so.
    if (call.number != 0 && call.number < oldest.tag().number) {
      channel->tell_call(oldest.tag().word());
    }
  }
  if (!oldest.has_entered()) return true;
  oldest.tell_call();
  oldest.find_mismatch();
  return failure_.empty();
}

/// `call`: one that `rank` is or was in. Another digest of the same number is another call.
bool Executor::check_call_of(int rank, CallTag call) noexcept {
  const CallTag own = executions_.under_way().front()->tag();
  if (call.number != own.number || call.digest == own.digest) return true;
  disagree_with(rank);
  return false;
}

/// What a rank of this node has made as the call of this number, as far as its posting shows that.
std::string Executor::call_seen_on(int rank, CallTag own) const {
  std::string unknown = "another call";
  if (!links_.is_local(rank)) return unknown;
  for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
    if (node_->rank_at(place) != rank) continue;
    const pid_t process = node_->process_of(place).number;
    for (const board::SeenCommunicator& seen : board::look(std::span(&process, 1))) {
      const auto at = std::ranges::find(seen.ranks, rank, &board::SeenRank::rank);
      if (seen.number != poster_.communicator() || at == seen.ranks.end()) continue;
      const auto call = std::ranges::find(at->calls, own.number, &board::SeenCall::number);
      if (call == at->calls.end() || call->digest == own.digest) continue;
      return to_string(CallName{call->collective, call->root, call->bytes});
    }
  }
  return unknown;
}

/// What `rank` has sent, or not sent, is not of the call of this rank.
void Executor::disagree_with(int rank) noexcept {
  const Execution& here = is_idle() ? executions_.last_spare() : *executions_.under_way().front();
  poison(fmt::format("{}{} on rank {}, {} on rank {}", kDisagree, to_string(here.prepared().call),
                     rank_, call_seen_on(rank, here.tag()), rank));
}

Executor::Help Executor::help(bool caller_waits) noexcept {
  if (!failure_.empty()) return Help::nothing_under_way;
  if (is_in_step_) return Help::nothing_moved;
  is_helped_ = true;
  is_away_ = !caller_waits;
  bool moved = progress();
  const bool waits = !is_idle() && failure_.empty();
  if (waits && !moved) {
    const std::int64_t now = now_ns();
    if (now >= wait_.next_look_ns) {
      wait_.next_look_ns = now + kLookEvery_ns;
      moved = !check_peers(now);
    }
  }
  is_helped_ = false;
  is_away_ = false;
  if (!waits) return Help::nothing_under_way;
  return moved ? Help::moved : Help::nothing_moved;
}

/// Calls a function of the caller, in the caller's thread only.
bool Executor::call_caller(const std::function<void()>& call) noexcept {
  try {
    if (call && !is_helped_) call();
    return true;
  } catch (const std::exception& error) {
    poison(error.what());
    return false;
  }
}

std::string Executor::describe_waits() const {
  std::string text = fmt::format("rank {} in its execution {}", rank_, oldest());
  for (const auto& execution : executions_.under_way()) text += execution->describe_waits();
  return text;
}

void Executor::poison(std::string text) noexcept {
  if (!failure_.empty()) return;
  failure_ = std::move(text);
  poster_.fail();
  links_.poison();
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
