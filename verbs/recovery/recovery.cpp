#include "verbs/recovery/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.hpp"

namespace weft::verbs {

namespace {

constexpr std::int64_t kNoticeEvery_ns = 3'000'000;
constexpr std::int64_t kMissingLaneNoticeEvery_ns = 200'000'000;
constexpr std::int64_t kQuestionEvery_ns = 100'000'000;
// Of the time between two calls of advance() at most this counts: in the rest this rank was outside
// weft and could not receive the peer's notices.
constexpr std::int64_t kMostCounted_ns = 100'000'000;
// A connection is given up after so many epochs in a row in which nothing was received.
constexpr std::uint32_t kMostIdleEpochs = 64;
// One of several lanes is excluded after so many failures in a row, although notices pass on it,
// and used again when no other lane has become ready in this time.
constexpr std::uint32_t kMostLaneFailures = 3;
constexpr std::int64_t kExclusion_ns = 1'000'000'000;

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Prints as much as has room, with a 0 at its end.
template <std::size_t kRoom, class... Values>
void print(std::array<char, kRoom>& to, fmt::format_string<Values...> form,
           Values&&... values) noexcept {
  char* end = to.data();
  try {
    end = fmt::format_to_n(end, kRoom - 1, form, std::forward<Values>(values)...).out;
  } catch (...) {  // fmt throws for a wrong form alone, and the compiler has checked it
  }
  *end = '\0';
}

}  // namespace

bool is_recoverable(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_FATAL_ERR:
    case IBV_WC_LOC_QP_OP_ERR:  // Soft-RoCE: its interface cannot send the packets
      return true;
    default:
      return false;
  }
}

void RecoveryGroup::advance_all() noexcept {
  for (Recovery* member : members_) member->advance();
}

Recovery::Recovery(RecoveryGroup& group, RecoverableConnection& connection)
    : group_(group), connection_(connection) {
  group.members_.push_back(this);
}

Recovery::~Recovery() {
  lanes_.clear();
  set_phase(Phase::running);
  std::erase(group_.members_, this);
}

void Recovery::start(std::vector<RecoverableLane*> lanes) noexcept {
  lanes_ = std::move(lanes);
  for (RecoverableLane* lane : lanes_) lane->state_ = State::ready;
}

void Recovery::set_phase(Phase phase) noexcept {
  const bool before = is_recovering();
  phase_ = phase;
  if (is_recovering() != before) is_recovering() ? ++group_.recovering_ : --group_.recovering_;
  count_degraded();
  connection_.on_change();
}

void Recovery::count_degraded() noexcept {
  const auto is_missing = [](const RecoverableLane* lane) {
    return lane->state_ == State::unconnected || lane->state_ == State::connected;
  };
  const bool degraded = is_running() && epoch_ != 0 && std::ranges::any_of(lanes_, is_missing);
  if (degraded != degraded_) degraded ? ++group_.degraded_ : --group_.degraded_;
  degraded_ = degraded;
}

bool Recovery::has_other_than(const RecoverableLane& lane) const noexcept {
  return std::ranges::any_of(lanes_, [&lane](const RecoverableLane* other) {
    return other != &lane && other->state_ != State::excluded;
  });
}

/// Uses lanes again that failed too often, rather than none.
bool Recovery::any_lane_left() noexcept {
  const auto is_left = [](const RecoverableLane* lane) { return lane->state_ != State::excluded; };
  if (!std::ranges::any_of(lanes_, is_left)) end_exclusions();
  return std::ranges::any_of(lanes_, is_left);
}

void Recovery::lane_failed(RecoverableLane& lane, const char* why, bool recoverable) noexcept {
  if (!recoverable || !std::ranges::any_of(lanes_, &RecoverableLane::has_control)) {
    return fail(why);
  }
  if (is_of_no_use()) return fail(why);
  cause_ = why;
  if (peer_failed_) return fail_like_peer();
  if (lane.carried_nothing() && ++lane.failures_ >= kMostLaneFailures && has_other_than(lane)) {
    log::warn("{}: not used any more by this connection: {}", lane.name(), why);
    lane.state_ = State::excluded;
    lane.may_return_ = true;
  }
  enter_epoch(epoch_ + 1);
}

void Recovery::enter_epoch(std::uint32_t epoch) noexcept {
  const bool first = !is_recovering();
  epoch_ = epoch;
  for (RecoverableLane* lane : lanes_) {
    if (lane->state_ != State::excluded) lane->state_ = State::unconnected;
    if (lane->reset(epoch) != nullptr) {
      lane->state_ = State::excluded;
      lane->may_return_ = false;
    }
  }
  if (!any_lane_left()) return fail("no queue pair of it is of use any more");
  const Received before = received_;
  received_ = connection_.received();
  idle_epochs_ = received_ == before ? idle_epochs_ + 1 : 0;
  if (idle_epochs_ > kMostIdleEpochs) return fail("it breaks again and again");
  set_phase(Phase::reconnecting);
  const std::int64_t now = now_ns();
  next_notice_ns_ = now;
  exclusion_ends_ns_ = now + kExclusion_ns;
  if (!first) return;
  broken_since_ns_ = advanced_ns_ = now;
  next_question_ns_ = now + kQuestionEvery_ns;
  extend_deadline();
}

/// Counts the time that a connection may be broken from now on.
void Recovery::extend_deadline() noexcept {
  deadline_ns_ = now_ns() + std::int64_t{group_.recovery_s_} * 1'000'000'000;
}

/// Fails when the connection has been broken for too long. The time in which this rank was outside
/// weft, and so received nothing, does not count.
bool Recovery::has_timed_out(std::int64_t now) noexcept {
  const std::int64_t away_ns = std::max<std::int64_t>(now - advanced_ns_ - kMostCounted_ns, 0);
  advanced_ns_ = now;
  deadline_ns_ += away_ns;
  broken_since_ns_ += away_ns;
  const std::int64_t absence_ns = group_.absence_ns_;
  std::array<char, kMostFailure> text;
  if (now >= deadline_ns_) {
    print(text, "not connected again within {} s (WEFT_RECOVERY) by {}", group_.recovery_s_,
          connection_.describe());
    fail(text.data());
  } else if (absence_ns != 0 && now - broken_since_ns_ >= absence_ns) {
    print(text, "the peer's process lives, but has not come within {} s (WEFT_TIMEOUT)",
          absence_ns / 1'000'000'000);
    fail(text.data());
  }
  return has_failed();
}

/// Of a peer that sends no notices, perhaps because it is outside weft.
void Recovery::ask_liveness(std::int64_t now) noexcept {
  if (now < next_question_ns_) return;
  next_question_ns_ = now + kQuestionEvery_ns;
  Notice question;
  question.epoch = epoch_;
  question.flags = Notice::kAlive;
  for (RecoverableLane* lane : lanes_) {
    if (lane->state_ != State::excluded) lane->ask_liveness(question);
  }
}

void Recovery::send_notice(RecoverableLane& lane, std::uint32_t flags) noexcept {
  // The end of the connection is told on all lanes: those that it could use may not get it through.
  if (lane.state_ == State::excluded && (flags & Notice::kFailed) == 0) return;
  Notice notice;
  notice.epoch = epoch_;
  notice.flags = flags;
  if (lane.state_ != State::unconnected) notice.flags |= Notice::kConnected;
  if (lane.state_ == State::ready) notice.flags |= Notice::kReady;
  notice.slots = received_.slots;
  notice.windows = received_.windows;
  if ((flags & Notice::kFailed) != 0) notice.reason = reason_;
  lane.send_notice(notice);
}

void Recovery::send_notices(std::uint32_t flags) noexcept {
  for (RecoverableLane* lane : lanes_) send_notice(*lane, flags);
}

/// False when the lane cannot be connected; without a lane left the connection has failed, too.
bool Recovery::start_lane(RecoverableLane& lane) noexcept {
  if (lane.start() == nullptr) {
    lane.state_ = State::connected;
    return true;
  }
  lane.state_ = State::excluded;
  lane.may_return_ = false;
  count_degraded();
  if (!any_lane_left()) fail("the queue pair cannot be connected again");
  return false;
}

void Recovery::receive(RecoverableLane& lane, const Notice& notice) noexcept {
  if ((notice.flags & Notice::kAlive) != 0) {
    if (phase_ == Phase::reconnecting && notice.epoch == epoch_) extend_deadline();
    return;
  }
  const bool peer_failed = (notice.flags & Notice::kFailed) != 0;
  if (has_failed()) {
    if (!peer_failed) send_notice(lane, Notice::kFailed);
    return;
  }
  if (peer_failed) {
    // An end that is running may have all that it needs; one that ends waits for the peer alone.
    peer_failed_ = true;
    reason_ = notice.reason;
    reason_.back() = '\0';
    if (is_recovering() || connection_.is_ending()) fail_like_peer();
    return;
  }
  const auto ahead = static_cast<std::int32_t>(notice.epoch - epoch_);
  if (ahead < 0 || lane.state_ == State::excluded) return;
  if (ahead > 0) {
    if (!is_recovering()) cause_ = "broken at the peer's end";
    enter_epoch(notice.epoch);
    if (has_failed() || lane.state_ == State::excluded) return;
  }
  if (phase_ == Phase::reconnecting) {
    const Received peer{notice.windows, notice.slots};
    if (peer_received_ != peer) idle_epochs_ = 0;
    peer_received_ = peer;
  }
  if (lane.state_ == State::unconnected && !start_lane(lane)) return;
  if ((notice.flags & Notice::kConnected) != 0 && lane.state_ != State::ready) {
    lane.state_ = State::ready;
    if (phase_ == Phase::reconnecting) {
      ++group_.reconnections_;
      set_phase(Phase::running);
    }
    count_degraded();
  }
  if ((notice.flags & Notice::kReady) == 0) send_notice(lane, 0);
}

/// The ends do not tell each other which lanes they exclude: they may have left none that both use.
void Recovery::end_exclusions() noexcept {
  for (RecoverableLane* lane : lanes_) {
    if (lane->state_ != State::excluded || !lane->may_return_) continue;
    lane->state_ = State::unconnected;
    lane->failures_ = 0;
  }
}

void Recovery::advance() noexcept {
  if (phase_ != Phase::reconnecting && !degraded_) return;
  if (is_recovering() && is_of_no_use()) return fail("both ends have closed it");
  const std::int64_t now = now_ns();
  if (!degraded_ && has_timed_out(now)) return;
  if (!degraded_) ask_liveness(now);
  if (!degraded_ && now >= exclusion_ends_ns_) end_exclusions();
  if (now < next_notice_ns_) return;
  next_notice_ns_ = now + (degraded_ ? kMissingLaneNoticeEvery_ns : kNoticeEvery_ns);
  for (RecoverableLane* lane : lanes_) {
    if (lane->state_ != State::ready) send_notice(*lane, 0);
  }
}

/// Both ends end the connection, and the peer has closed it.
bool Recovery::is_of_no_use() const noexcept {
  return connection_.is_ending() && connection_.is_closed_by_peer();
}

void Recovery::prepare_to_end() noexcept {
  if (peer_failed_) fail_like_peer();
}

void Recovery::say_goodbye() noexcept {
  if (is_recovering() || has_failed()) send_notices(Notice::kFailed);
}

/// The peer's reason is in this end's error, too: all ranks report one cause.
void Recovery::fail_like_peer() noexcept {
  std::array<char, kMostFailure> text;
  print(text, "{}{}the peer has given the connection up{}{}", is_recovering() ? "" : cause_,
        is_recovering() ? "" : "; ", reason_[0] == '\0' ? "" : ": ", reason_.data());
  fail(text.data());
}

void Recovery::fail(const char* why) noexcept {
  if (has_failed()) return;
  if (!peer_failed_) print(reason_, "{}", why);
  print(failure_text_, "{}{}{}", is_recovering() ? cause_ : "", is_recovering() ? "; " : "", why);
  failure_ = failure_text_.data();
  set_phase(Phase::running);
  send_notices(Notice::kFailed);
  for (RecoverableLane* lane : lanes_) lane->stop_answering();
}

}  // namespace weft::verbs
