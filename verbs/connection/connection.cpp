#include "verbs/connection/connection.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/other_build.hpp"
#include "verbs/connection/announcement.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::verbs {

Connection::Connection(Endpoint& endpoint)
    : endpoint_(endpoint),
      order_(endpoint.nearest_first().begin(), endpoint.nearest_first().end()),
      commits_(order_.front()) {
  const auto is_polled = [](const auto& rail) { return rail->placement() == Placement::polled; };
  const bool receives = !std::ranges::all_of(endpoint.rails(), is_polled);
  for (const auto& rail : endpoint.rails()) {
    lanes_.push_back(std::make_unique<RcLane>(*rail, *this, lanes_.size(), receives));
    immediate_ = immediate_ || lanes_.back()->wants_immediate();
  }
  for (const auto& lane : lanes_) {
    if (immediate_) lane->expect_immediate();
    if (const char* refused = lane->reset(0)) {
      throw_errno(fmt::format("ibv_modify_qp({}, {})", lane->rail().describe(), refused));
    }
  }
  recovery_.emplace(endpoint.recoveries(), static_cast<RecoverableConnection&>(*this));
}

void Connection::end() noexcept {
  has_ended_ = true;
  if (recovery_) recovery_->say_goodbye();
  for (const auto& lane : lanes_) lane->rail().flush_notices();
  recovery_.reset();
  lanes_.clear();
  running_.store(false, std::memory_order_relaxed);
}

void Connection::prepare_to_end() noexcept {
  is_ending_ = true;
  if (!has_ended_) recovery_->prepare_to_end();
}

std::string Connection::address() const {
  std::string text;
  for (const auto& lane : lanes_) {
    RcAddress one = lane->address();
    one.immediate = immediate_ ? 1 : 0;
    text.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  return text;
}

void Connection::connect(std::string_view peer_address) {
  if (!peer_address_.empty()) {
    if (peer_address_ == peer_address) return;
    throw Error("the peer has another connection than this end");
  }
  const std::size_t count = peer_address.size() / sizeof(RcAddress);
  if (count == 0 || peer_address.size() % sizeof(RcAddress) != 0) {
    throw_other_build("an address of a connection", peer_address.size());
  }
  if (count < lanes_.size()) {
    lanes_.resize(count);
    std::erase_if(order_, [&](std::size_t lane) { return lane >= count; });
    commits_ = order_.front();
  }
  std::vector<RecoverableLane*> started;
  for (const auto& lane : lanes_) {
    RcAddress peer;
    std::memcpy(&peer, peer_address.data() + lane->number() * sizeof peer, sizeof peer);
    lane->set_peer(peer);
    if (const char* refused = lane->start()) {
      throw_errno(fmt::format("ibv_modify_qp({}, {})", lane->rail().describe(), refused));
    }
    started.push_back(lane.get());
    peer_immediate_ = peer.immediate != 0;
  }
  recovery_->start(std::move(started));
  peer_address_ = peer_address;
  on_change();
}

std::uint32_t Connection::add(RcWire& wire) {
  const auto free = std::ranges::find(wires_, nullptr);
  const auto number = static_cast<std::uint32_t>(free - wires_.begin());
  if (number >= Announcement::kMostWires) {
    throw Error(fmt::format("more than {} wires on one connection", number));
  }
  free == wires_.end() ? wires_.push_back(&wire) : void(*free = &wire);
  return number;
}

void Connection::remove(RcWire& wire) noexcept {
  std::ranges::replace(wires_, &wire, static_cast<RcWire*>(nullptr));
  const Received had = wire.received();
  received_before_.windows += had.windows;
  received_before_.slots += had.slots;
}

Received Connection::received() const noexcept {
  Received all = received_before_;
  for (const RcWire* wire : wires_) {
    if (wire == nullptr) continue;
    const Received one = wire->received();
    all.windows += one.windows;
    all.slots += one.slots;
  }
  return all;
}

bool Connection::is_closed_by_peer() const noexcept {
  return std::ranges::all_of(wires_, [](const RcWire* wire) {
    return wire == nullptr || !wire->is_in_use() || wire->is_closed_by_peer();
  });
}

void Connection::on_change() noexcept {
  if (has_ended_) return;
  const bool runs_again = recovery_->is_running() && !is_running() && recovery_->epoch() != 0;
  if (runs_again) reconnections_.fetch_add(1, std::memory_order_relaxed);
  epoch_.store(recovery_->epoch(), std::memory_order_release);
  running_.store(recovery_->is_running(), std::memory_order_relaxed);
  failed_.store(recovery_->has_failed(), std::memory_order_release);
  for (RcWire* wire : wires_) {
    if (wire != nullptr) wire->update_troubled();
  }
  telling_ = recovery_->is_running() && recovery_->epoch() != 0;
  update_wants_poll();
  tell_all();
}

/// As far as the lane has room; the rest when requests on it complete.
void Connection::tell_all() noexcept {
  if (!telling_) return;
  for (RcWire* wire : wires_) {
    if (wire != nullptr && wire->tell() != Status::ok) return;
  }
  telling_ = false;
}

Wire::LinkState Connection::link_state() const noexcept {
  Wire::LinkState state;
  state.reconnections = reconnections();
  for (const auto& lane : lanes_) {
    ++state.queue_pairs;
    state.ready += is_running() && lane->is_ready();
    state.requests += lane->posted() - lane->completed();
  }
  return state;
}

bool Connection::ask_responders(Notice question) noexcept {
  question.epoch = epoch();
  bool some = false;
  for (const auto& lane : lanes_) {
    if (!lane->has_control()) continue;
    lane->ask_liveness(question);
    some = true;
  }
  return some;
}

void Connection::ask_liveness() noexcept {
  Notice question;
  question.flags = Notice::kAlive;
  ask_responders(question);
}

bool Connection::ask(const std::array<char, Notice::kReasonBytes>& text) noexcept {
  Notice question;
  question.flags = Notice::kWhere;
  question.reason = text;
  return ask_responders(question);
}

void Connection::stop_answering() noexcept {
  for (const auto& lane : lanes_) lane->stop_answering();
}

/// Announces the bytes that `immediate` names; others that the peer wrote may not have arrived.
void Connection::arrive(RcLane& lane, std::uint32_t immediate) noexcept {
  const auto written = Announcement::unpack(immediate);
  RcWire* wire = written.wire < wires_.size() ? wires_[written.wire] : nullptr;
  if (wire != nullptr && !wire->announce(written.offset, written.bytes)) {
    return recovery_->fail("the peer wrote past the inbox");
  }
  if (!lane.post_receive()) recovery_->lane_failed(lane, "ibv_post_recv failed", true);
}

void Connection::complete(RcLane& lane, const ibv_wc& completion) noexcept {
  if (!lane.is_current(completion) || recovery_->has_failed()) return;
  if (completion.status != IBV_WC_SUCCESS) {
    const char* why = lane.rail().library().wc_status_str(completion.status);
    return recovery_->lane_failed(lane, why, is_recoverable(completion.status));
  }
  if ((completion.opcode & IBV_WC_RECV) != 0) return arrive(lane, be32toh(completion.imm_data));
  lane.complete(completion);
  if (std::ranges::all_of(lanes_, [](const auto& one) { return one->puts_done(); })) {
    for (const auto& one : lanes_) one->share_bytes = 0;
  }
  update_wants_poll();
  tell_all();
}

void Connection::update_wants_poll() noexcept {
  const auto expects = [](const auto& lane) { return lane->expects_completion(); };
  wants_poll_.store(immediate_ || !is_running() || std::ranges::any_of(lanes_, expects),
                    std::memory_order_relaxed);
}

Status Connection::post(RcLane& lane, ibv_send_wr& request) noexcept {
  const Status status = lane.post(request);
  if (status == Status::failed) {
    recovery_->lane_failed(lane, "ibv_post_send failed", true);
    return not_now();
  }
  if (lane.expects_completion()) wants_poll_.store(true, std::memory_order_relaxed);
  return status;
}

/// The lane of the next commit. Commits change lanes only when none is under way, so that none
/// overtakes another, and not where they come with a completion each: the peer could see these in
/// another order.
RcLane& Connection::commit_lane() noexcept {
  if (lanes_.size() > 1) {
    const auto usable = [this](std::size_t lane) { return lanes_[lane]->is_ready(); };
    const std::size_t best = *std::ranges::find_if(order_, usable);
    const RcLane& now = *lanes_[commits_];
    if (!now.is_ready() || (now.is_drained() && !peer_immediate_)) commits_ = best;
  }
  return *lanes_[commits_];
}

/// The lane with the smallest share of the puts under way, the nearest of several. Null when no
/// lane has keys for both ends' memory.
RcLane* Connection::least_used(const RemoteKeys& keys, const Region& local) const noexcept {
  if (lanes_.size() == 1) return lanes_.front().get();
  RcLane* best = nullptr;
  for (const std::size_t number : order_) {
    RcLane& lane = *lanes_[number];
    if (!lane.is_ready() || keys[number] == 0 || local.lkeys[number] == 0) continue;
    if (best == nullptr || lane.share_bytes < best->share_bytes) best = &lane;
  }
  return best;
}

}  // namespace weft::verbs
