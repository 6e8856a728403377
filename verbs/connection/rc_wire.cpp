#include "verbs/connection/rc_wire.hpp"

#include <endian.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/other_build.hpp"
#include "verbs/connection/announcement.hpp"

namespace weft::verbs {

namespace {

// One call of poll() in so many polls the device although nothing is expected.
constexpr std::uint32_t kQuietPolls = 256;

/// Address of a wire. Sent as bytes: both ends run the same build.
struct WireAddress {
  std::uint64_t inbox = 0;
  RemoteKeys keys{};
  std::uint32_t number = 0;
  std::uint32_t reserved = 0;
};

std::unique_ptr<Connection> make_connection(Endpoint& endpoint) {
  const auto guard = endpoint.guard();
  return std::make_unique<Connection>(endpoint);
}

}  // namespace

RcWire::RcWire(Endpoint& endpoint) : RcWire(make_connection(endpoint)) {}

RcWire::RcWire(std::unique_ptr<Connection>&& own) : RcWire(*own, std::move(own)) {}

RcWire::RcWire(Connection& connection) : RcWire(connection, std::unique_ptr<Connection>()) {}

RcWire::RcWire(Connection& connection, std::unique_ptr<Connection>&& own)
    : own_(std::move(own)),
      connection_(connection),
      endpoint_(connection.endpoint()),
      memory_(endpoint_.inboxes().take()) {
  if (connection_.is_immediate()) {
    announced_ = std::make_unique<AnnouncedWords>();
    use_announced_inbox(memory_.data(), *announced_);
  } else {
    use_polled_inbox(memory_.data());
  }
  outbox_ = memory_.data() + kInboxBytes;
  const auto guard = endpoint_.guard();
  number_ = connection_.add(*this);
}

RcWire::~RcWire() {
  const auto guard = endpoint_.guard();
  if (own_ != nullptr) own_->end();
  connection_.remove(*this);
  is_connected_ = false;
  update_troubled();
}

std::string RcWire::address() const {
  const WireAddress mine{reinterpret_cast<std::uint64_t>(inbox_), memory_.region().rkeys, number_,
                         0};
  std::string text(reinterpret_cast<const char*>(&mine), sizeof mine);
  if (own_ == nullptr) return text;
  const auto guard = endpoint_.guard();
  return text + own_->address();
}

void RcWire::connect(std::string_view peer_address) {
  WireAddress peer;
  if (peer_address.size() < sizeof peer) {
    throw_other_build("an address of a connection", peer_address.size());
  }
  std::memcpy(&peer, peer_address.data(), sizeof peer);
  const auto guard = endpoint_.guard();
  if (own_ != nullptr) own_->connect(peer_address.substr(sizeof peer));
  peer_inbox_ = peer.inbox;
  peer_keys_ = peer.keys;
  peer_number_ = peer.number;
  // A completion announces all bytes at once, and adapters that are polled place them in order. The
  // software device only places the last 8 bytes last.
  const RcLane& lane = *connection_.lanes_.front();
  joins_commits_ = connection_.peer_immediate_ || lane.peer().software == 0;
  is_connected_ = true;
  update_troubled();
  if (connection_.is_running()) tell();
}

Received RcWire::received() const noexcept {
  return {windows_finished(mailbox()), consumed_.load(std::memory_order_acquire)};
}

/// Once an epoch, from the second on. Where the lane has no room: again.
Status RcWire::tell() noexcept {
  const std::uint32_t epoch = connection_.epoch();
  if (!is_connected_ || told_ == epoch) return Status::ok;
  constexpr std::size_t kOffset = kMailboxOffset + offsetof(Mailbox, resumption);
  const Received had = received();
  const Resumption resumption{had.windows, had.slots, epoch};
  std::memcpy(outbox_ + kOffset, &resumption, sizeof resumption);
  const Status status = write(connection_.commit_lane(), kOffset, sizeof resumption, false);
  if (status == Status::ok) told_ = epoch;
  return status;
}

void RcWire::update_troubled() noexcept {
  const bool troubled = in_use_ && is_recovering();
  if (troubled != troubled_) endpoint_.add_troubled(troubled ? 1 : -1);
  troubled_ = troubled;
}

void RcWire::set_in_use(bool in_use) noexcept {
  in_use_ = in_use;
  signals_ = false;
  update_troubled();
}

/// Writes from the outbox to the same place of the peer's inbox.
Status RcWire::write(RcLane& lane, std::size_t offset, std::size_t bytes, bool signal) noexcept {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(outbox_ + offset),
                static_cast<std::uint32_t>(bytes), memory_.region().lkeys[lane.number()]};
  const Announcement announcement{peer_number_, offset, bytes};
  ibv_send_wr request{};
  request.opcode = connection_.peer_immediate_ ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request.imm_data = htobe32(announcement.pack());
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = bytes <= lane.inline_bytes() ? IBV_SEND_INLINE : 0;
  if (signal) request.send_flags |= IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer_inbox_ + offset;
  request.wr.rdma.rkey = peer_keys_[lane.number()];
  const Status status = connection_.post(lane, request);
  if (status == Status::ok) sent_bytes_[lane.number()] += bytes;
  return status;
}

Status RcWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  const auto guard = endpoint_.guard();
  if (!may_send()) return connection_.not_now();
  if (connection_.commit_lane().is_full()) {
    endpoint_.poll_guarded();
    if (!may_send()) return connection_.not_now();
  }
  RcLane& lane = connection_.commit_lane();
  std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
  const Status status = write(lane, offset, bytes, signals_);
  if (status != Status::ok) return status;
  last_post_[lane.number()] = lane.posted();
  return Status::ok;
}

Status RcWire::put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
                   std::uint32_t local_key, std::size_t bytes) noexcept {
  const auto guard = endpoint_.guard();
  if (!may_send()) return connection_.not_now();
  const Region region = endpoint_.region_guarded(local_key);
  RcLane* lane = connection_.least_used(keys, region);
  if (lane != nullptr && lane->is_full()) {
    endpoint_.poll_guarded();
    if (!may_send()) return connection_.not_now();
    lane = connection_.least_used(keys, region);
  }
  if (lane == nullptr) {
    connection_.recovery_->fail("memory is not registered with any rail that is left");
    return Status::failed;
  }
  ibv_sge piece{reinterpret_cast<std::uint64_t>(local), static_cast<std::uint32_t>(bytes),
                region.lkeys[lane->number()]};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = keys[lane->number()];
  const Status status = connection_.post(*lane, request);
  if (status != Status::ok) return status;
  lane->mark_put();
  lane->share_bytes += bytes;
  last_post_[lane->number()] = last_put_[lane->number()] = lane->posted();
  sent_bytes_[lane->number()] += bytes;
  ++puts_;
  return Status::ok;
}

bool RcWire::lands_in_order() const noexcept {
  const auto guard = endpoint_.guard();
  return may_send() && std::ranges::all_of(connection_.lanes_, [this](const auto& lane) {
           return lane->number() == connection_.commits_ ||
                  lane->completed() >= last_put_[lane->number()];
         });
}

std::size_t RcWire::lanes_in_use() const noexcept {
  const auto guard = endpoint_.guard();
  return static_cast<std::size_t>(std::ranges::count_if(connection_.lanes_, &RcLane::is_ready));
}

bool RcWire::is_drained() const noexcept {
  const auto guard = endpoint_.guard();
  return may_send() && std::ranges::all_of(connection_.lanes_, [this](const auto& lane) {
           return lane->completed() >= last_post_[lane->number()];
         });
}

std::uint32_t RcWire::inline_bytes() const noexcept {
  const auto guard = endpoint_.guard();
  return connection_.lanes_[connection_.commits_]->inline_bytes();
}

const Wire::Bounce* RcWire::bounce_half(std::size_t half) noexcept {
  if (bounces_[half].memory != nullptr) return &bounces_[half];
  try {
    const File file = make_memory_file("weft-bounce", 2 * kBounceBytes);
    bounce_memory_ = Mapping(file.get(), 2 * kBounceBytes);
    bounce_registration_ = endpoint_.register_memory(bounce_memory_.data(), bounce_memory_.size());
  } catch (const std::exception&) {
    return nullptr;
  }
  for (std::size_t i = 0; i < bounces_.size(); ++i) {
    bounces_[i] = {bounce_memory_.data() + i * kBounceBytes, bounce_registration_.lkey()};
  }
  return &bounces_[half];
}

bool RcWire::puts_are_done() const noexcept {
  return may_send() && std::ranges::all_of(connection_.lanes_, [this](const auto& lane) {
           return lane->completed() >= last_put_[lane->number()];
         });
}

/// In this epoch the peer has told what it had received, and so has this end.
bool RcWire::can_resume() const noexcept {
  const std::uint32_t epoch = connection_.epoch();
  return is_connected_ && connection_.is_running() && epoch_ != epoch && told_ == epoch &&
         load_acquire(mailbox().resumption.epoch) == epoch;
}

Status RcWire::poll() noexcept {
  // An end that only waits must receive notices, too, though they are rare.
  const bool due = ++quiet_polls_ % kQuietPolls == 0;
  if (due || connection_.wants_poll() || puts_done_ != puts_ || epoch_ != connection_.epoch()) {
    const auto guard = endpoint_.guard();
    endpoint_.poll_guarded();
    if (connection_.is_running()) tell();
    resumable_ = can_resume();
    if (puts_done_ != puts_ && puts_are_done()) puts_done_ = puts_;
  }
  return connection_.has_failed() ? Status::failed : Status::ok;
}

bool RcWire::resume(Received& peer) noexcept {
  const auto guard = endpoint_.guard();
  resumable_ = false;
  if (!can_resume()) return false;
  const Resumption& told = mailbox().resumption;
  peer = {load_acquire(told.windows), static_cast<std::uint32_t>(load_acquire(told.slots))};
  epoch_ = connection_.epoch();
  puts_done_ = puts_;
  last_put_ = last_post_ = {};
  update_troubled();
  return true;
}

}  // namespace weft::verbs
