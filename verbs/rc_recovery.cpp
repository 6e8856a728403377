// How the two ends of a reliable connection make it anew.
//
//   running --completion error--> cut_off --peer's notice--> connected --"it knows"--> resumable
//      ^            or a notice of a later epoch                          channel takes it up |
//      +--------------------------------------------------------------------------------------+
//
// An end that is cut off has taken its queue pair through RESET: nothing of the old connection can
// arrive any more, so what it has seen by then is final, and it says so by datagrams until it is
// answered. Only then a queue pair is brought up again, so that neither end can still have old
// requests when the other one takes any. Epochs count connections: whoever hears of a later one is
// cut off, too; what comes late or twice is of an earlier one, or says what is known. The queue
// pairs keep their numbers, and packets are numbered from another place in each epoch.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "verbs/channel.hpp"
#include "verbs/rc_wire.hpp"

namespace weft::verbs {

namespace {

constexpr std::int64_t kNoticeEvery_ns = 3'000'000;
// A connection that breaks so often before anything has come through is of no use.
constexpr std::uint32_t kFruitless = 64;

std::int64_t now_ns() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Whether another connection could do what failed: not where the request itself was wrong.
bool may_pass(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_WR_FLUSH_ERR:
    case IBV_WC_FATAL_ERR:
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
  if (is_troubled() == before) return;
  is_troubled() ? ++endpoint_.troubled_ : --endpoint_.troubled_;
}

/// The first error is the cause: what follows has an earlier epoch, or the wire has failed.
void RcWire::broke(ibv_wc_status status) noexcept {
  const char* what = endpoint_.library().wc_status_str(status);
  const bool mendable = endpoint_.control() != nullptr && peer_.control != 0 && may_pass(status);
  if (!mendable || peer_gone_ || said_goodbye(inbox_)) return give_up(what);
  trouble_ = what;
  cut_off(epoch_ + 1);
}

void RcWire::cut_off(std::uint32_t epoch) noexcept {
  const bool first = !is_troubled();
  epoch_ = epoch;
  posted_ = completed_ = signalled_ = 0;
  last_put_ = {};
  ibv_qp_attr reset{};
  if (!modify(reset, IBV_QPS_RESET, 0) || initialize() != nullptr) {
    return give_up("the queue pair cannot be reset");
  }
  const Seen before = seen_;
  seen_ = {windows_finished(inbox_), consumed_};
  const bool fruitful = seen_.windows != before.windows || seen_.slots != before.slots;
  fruitless_ = fruitful ? 0 : fruitless_ + 1;
  if (fruitless_ > kFruitless) return give_up("it breaks again and again");
  set_phase(Phase::cut_off);
  const std::int64_t now = now_ns();
  next_notice_ns_ = now;
  if (first) deadline_ns_ = now + std::int64_t{endpoint_.settings().recovery_s} * 1'000'000'000;
}

void RcWire::tell(std::uint32_t flags) noexcept {
  ControlPath* control = endpoint_.control();
  if (control == nullptr || peer_.control == 0) return;
  if (way_ == nullptr) way_ = control->find(route(endpoint_, peer_));
  if (way_ == nullptr) return;
  Notice notice;
  notice.to = peer_.queue_pair;
  notice.from = pair_->qp_num;
  notice.epoch = epoch_;
  notice.flags = flags;
  if (phase_ != Phase::cut_off) notice.flags |= Notice::kConnected;
  if (phase_ == Phase::running || phase_ == Phase::resumable) notice.flags |= Notice::kKnows;
  notice.slots = seen_.slots;
  notice.windows = seen_.windows;
  control->send(way_, peer_.control, notice);
}

void RcWire::hear(const Notice& notice) noexcept {
  if (peer_.queue_pair == 0 || notice.from != peer_.queue_pair) return;
  const bool gone = (notice.flags & Notice::kGone) != 0;
  if (failure_[0] != '\0') {
    if (!gone) tell(Notice::kGone);
    return;
  }
  if (gone) {
    // An end that is not in trouble may have all that it needs.
    peer_gone_ = true;
    if (is_troubled()) give_up("the peer has given the connection up");
    return;
  }
  const auto ahead = static_cast<std::int32_t>(notice.epoch - epoch_);
  if (ahead < 0) return;
  if (ahead > 0) {
    if (!is_troubled()) trouble_ = "broken at the peer's end";
    cut_off(notice.epoch);
  }
  if (phase_ == Phase::cut_off) {
    if (peer_seen_.windows != notice.windows || peer_seen_.slots != notice.slots) fruitless_ = 0;
    peer_seen_ = {notice.windows, notice.slots};
    if (start() != nullptr) return give_up("the queue pair cannot be connected again");
    set_phase(Phase::connected);
  }
  if (phase_ == Phase::connected && (notice.flags & Notice::kConnected) != 0) {
    set_phase(Phase::resumable);
    ++endpoint_.reconnections_;
  }
  if ((notice.flags & Notice::kKnows) == 0) tell(0);
}

void RcWire::tend() noexcept {
  if (phase_ != Phase::cut_off && phase_ != Phase::connected) return;
  const std::int64_t now = now_ns();
  if (now >= deadline_ns_) {
    return give_up(fmt::format("not connected again within {} s (WEFT_RECOVERY)",
                               endpoint_.settings().recovery_s)
                       .c_str());
  }
  if (now < next_notice_ns_) return;
  next_notice_ns_ = now + kNoticeEvery_ns;
  tell(0);
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
  tell(Notice::kGone);
}

/// The connection goes. A peer that would still mend it need not wait for its deadline.
void RcWire::forget_control() noexcept {
  const bool wanted = is_troubled() || failure_[0] != '\0';
  if (wanted) tell(Notice::kGone);
  if (is_troubled()) set_phase(Phase::running);
  if (way_ != nullptr) endpoint_.control()->forget(way_);
  way_ = nullptr;
}

}  // namespace weft::verbs
