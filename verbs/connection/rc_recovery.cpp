// How the two ends of a reliable connection make it anew.
//
//   running --completion error--> cut_off --a lane is ready--> resumable --channel takes it up--+
//      ^            or a notice of a later epoch                                                |
//      +----------------------------------------------------------------------------------------+
//
// An end that is cut off has taken the queue pairs of all its lanes through RESET: nothing of the
// old connection can arrive any more, so what it has seen by then is final, and it says so by
// datagrams on every lane until it is answered. An end brings a lane up when it hears that on it
// (the peer is cut off, too, and the rail carries), and uses it when it hears that the peer's is
// up. So neither end can still have old requests when the other one takes any, and which lanes are
// used follows from what was heard alone: a rail that is down has none that speaks.
//
// Epochs count connections: whoever hears of a later one is cut off, too; what comes late or twice
// is of an earlier one, or says what is known. The queue pairs keep their numbers, and packets are
// numbered from another place in each epoch. While a lane is missing both ends speak up on it now
// and then, and it joins the epoch under way: it has carried nothing of it yet.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::verbs {

namespace {

constexpr std::int64_t kNoticeEvery_ns = 3'000'000;
constexpr std::int64_t kCallEvery_ns = 200'000'000;  // on lanes that are missing
constexpr std::int64_t kAskEvery_ns = 100'000'000;
// Of the time between two looks no more than this counts: for longer this rank was in no call.
constexpr std::int64_t kListens_ns = 100'000'000;
// A connection that breaks so often before anything has come through is of no use.
constexpr std::uint32_t kFruitless = 64;
// Nor is one of several lanes, although datagrams pass on it.
constexpr std::uint32_t kLaneBreaks = 3;

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Whether another connection could do what failed: not where the request itself was wrong. A local
/// QP operation error is also what Soft-RoCE has for packets that its interface cannot send.
bool may_pass(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_FATAL_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
      return true;
    default:
      return false;
  }
}

}  // namespace

void RcWire::set_phase(Phase phase) noexcept {
  const bool before = is_troubled();
  phase_ = phase;
  resumable_ = phase == Phase::resumable;
  if (is_troubled() != before) is_troubled() ? ++endpoint_.troubled_ : --endpoint_.troubled_;
  count_limping();
}

void RcWire::count_limping() noexcept {
  const auto missing = [](const auto& lane) { return !lane->ready && !lane->lost; };
  const bool limps = is_sound() && epoch_ != 0 && std::ranges::any_of(lanes_, missing);
  if (limps != limping_) limps ? ++endpoint_.limping_ : --endpoint_.limping_;
  limping_ = limps;
}

bool RcWire::any_lane_left() const noexcept {
  return !std::ranges::all_of(lanes_, &RcLane::lost);
}

void RcWire::broke(RcLane& lane, ibv_wc_status status) noexcept {
  broke(lane, lane.rail().library().wc_status_str(status), may_pass(status));
}

/// The first error is the cause: what follows has an earlier epoch, or the wire has failed.
void RcWire::broke(RcLane& lane, const char* what, bool mendable) noexcept {
  const auto heard = [](const auto& one) { return one->has_control(); };
  if (!mendable || !std::ranges::any_of(lanes_, heard)) return give_up(what);
  if (peer_gone_ || said_goodbye(mailbox())) return give_up(what);
  trouble_ = what;
  if (lanes_.size() > 1 && lane.brought_nothing() && ++lane.breaks == kLaneBreaks) {
    log::warn("{}: not used any more by this connection: {}", lane.rail().name(), what);
    lane.lost = true;
  }
  cut_off(epoch_ + 1);
}

void RcWire::cut_off(std::uint32_t epoch) noexcept {
  const bool first = !is_troubled();
  epoch_ = epoch;
  for (const auto& lane : lanes_) {
    if (lane->reset(epoch, immediate_) != nullptr) lane->lost = true;
  }
  if (!any_lane_left()) return give_up("no queue pair of it is of use any more");
  const Seen before = seen_;
  seen_ = {windows_finished(mailbox()), consumed_};
  const bool fruitful = seen_.windows != before.windows || seen_.slots != before.slots;
  fruitless_ = fruitful ? 0 : fruitless_ + 1;
  if (fruitless_ > kFruitless) return give_up("it breaks again and again");
  set_phase(Phase::cut_off);
  const std::int64_t now = now_ns();
  next_notice_ns_ = now;
  if (!first) return;
  broken_since_ns_ = tended_ns_ = now;
  next_ask_ns_ = now + kAskEvery_ns;
  wait_on();
}

/// From now on, for as long as a connection may be broken.
void RcWire::wait_on() noexcept {
  deadline_ns_ = now_ns() + std::int64_t{endpoint_.settings().recovery_s} * 1'000'000'000;
}

/// Whether it has been broken for too long. The time in which this rank was in no call, and so
/// heard nothing, is not held against the peer.
bool RcWire::is_over(std::int64_t now) noexcept {
  const std::int64_t away_ns = std::max<std::int64_t>(now - tended_ns_ - kListens_ns, 0);
  tended_ns_ = now;
  deadline_ns_ += away_ns;
  broken_since_ns_ += away_ns;
  const std::int64_t absence_ns = endpoint_.settings().absence_ns;
  if (now >= deadline_ns_) {
    give_up(fmt::format("not connected again within {} s (WEFT_RECOVERY) by {}",
                        endpoint_.settings().recovery_s, endpoint_.describe())
                .c_str());
  } else if (absence_ns != 0 && now - broken_since_ns_ >= absence_ns) {
    give_up(fmt::format("the peer's process lives, but has not come within {} s (WEFT_TIMEOUT)",
                        absence_ns / 1'000'000'000)
                .c_str());
  }
  return failure_[0] != '\0';
}

/// Of a peer that does not say how its end stands, perhaps because it is in no call.
void RcWire::ask_for_life(std::int64_t now) noexcept {
  if (now < next_ask_ns_) return;
  next_ask_ns_ = now + kAskEvery_ns;
  Notice question;
  question.epoch = epoch_;
  for (const auto& lane : lanes_) {
    if (!lane->lost) lane->ask(question);
  }
}

void RcWire::tell(RcLane& lane, std::uint32_t flags) noexcept {
  if (lane.lost) return;
  Notice notice;
  notice.epoch = epoch_;
  notice.flags = flags;
  if (lane.up) notice.flags |= Notice::kConnected;
  if (lane.ready) notice.flags |= Notice::kKnows;
  notice.slots = seen_.slots;
  notice.windows = seen_.windows;
  lane.tell(notice);
}

void RcWire::tell_all(std::uint32_t flags) noexcept {
  for (const auto& lane : lanes_) tell(*lane, flags);
}

/// False when the connection has come to its end.
bool RcWire::bring_up(RcLane& lane) noexcept {
  if (lane.start() == nullptr) {
    lane.up = true;
    return true;
  }
  lane.lost = true;
  count_limping();
  if (any_lane_left()) return false;
  give_up("the queue pair cannot be connected again");
  return false;
}

void RcWire::hear(RcLane& lane, const Notice& notice) noexcept {
  if (lane.peer().queue_pair == 0 || notice.from != lane.peer().queue_pair) return;
  if ((notice.flags & Notice::kAlive) != 0) {
    if (phase_ == Phase::cut_off && notice.epoch == epoch_) wait_on();
    return;
  }
  const bool gone = (notice.flags & Notice::kGone) != 0;
  if (failure_[0] != '\0') {
    if (!gone) tell(lane, Notice::kGone);
    return;
  }
  if (gone) {
    // An end that is not in trouble may have all that it needs.
    peer_gone_ = true;
    if (is_troubled()) give_up("the peer has given the connection up");
    return;
  }
  const auto ahead = static_cast<std::int32_t>(notice.epoch - epoch_);
  if (ahead < 0 || lane.lost) return;
  if (ahead > 0) {
    if (!is_troubled()) trouble_ = "broken at the peer's end";
    cut_off(notice.epoch);
    if (failure_[0] != '\0' || lane.lost) return;
  }
  if (phase_ == Phase::cut_off) {
    if (peer_seen_.windows != notice.windows || peer_seen_.slots != notice.slots) fruitless_ = 0;
    peer_seen_ = {notice.windows, notice.slots};
  }
  if (!lane.up && !bring_up(lane)) return;
  if ((notice.flags & Notice::kConnected) != 0 && !lane.ready) {
    lane.ready = true;
    if (phase_ == Phase::cut_off) {
      set_phase(Phase::resumable);
      ++endpoint_.reconnections_;
    }
    count_limping();
  }
  if ((notice.flags & Notice::kKnows) == 0) tell(lane, 0);
}

void RcWire::tend() noexcept {
  if (phase_ != Phase::cut_off && !limping_) return;
  const std::int64_t now = now_ns();
  if (!limping_ && is_over(now)) return;
  if (!limping_) ask_for_life(now);
  if (now < next_notice_ns_) return;
  next_notice_ns_ = now + (limping_ ? kCallEvery_ns : kNoticeEvery_ns);
  for (const auto& lane : lanes_) {
    if (!lane->ready) tell(*lane, 0);
  }
}

Seen RcWire::resume() noexcept {
  set_phase(Phase::running);
  puts_done_ = puts_;
  return peer_seen_;
}

void RcWire::give_up(const char* why) noexcept {
  if (failure_[0] != '\0') return;
  const auto end =
      is_troubled() ? fmt::format_to_n(failure_text_.data(), failure_text_.size() - 1, "{}; {}",
                                       trouble_, why)
                    : fmt::format_to_n(failure_text_.data(), failure_text_.size() - 1, "{}", why);
  *end.out = '\0';
  failure_ = failure_text_.data();
  set_phase(Phase::running);
  tell_all(Notice::kGone);
  for (const auto& lane : lanes_) lane->fall_silent();
}

}  // namespace weft::verbs
