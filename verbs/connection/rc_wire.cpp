#include "verbs/connection/rc_wire.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::verbs {

namespace {

constexpr std::size_t kAlignment = 4096;

// One call of poll() in so many polls the device although this wire expects no completion.
constexpr std::uint32_t kQuietPolls = 256;

/// The immediate data of a write: the range of the inbox that it wrote. Both are multiples of 8.
constexpr std::uint32_t pack(std::size_t offset, std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(offset / 8 << 16 | bytes / 8);
}
static_assert(kInboxBytes / 8 < 1 << 16);

}  // namespace

std::size_t RcWire::memory_bytes() {
  return round_up(2 * kInboxBytes, kAlignment);
}

RcWire::RcWire(Endpoint& endpoint)
    : endpoint_(endpoint),
      order_(endpoint.nearest_first().begin(), endpoint.nearest_first().end()),
      commits_(order_.front()),
      recovery_(endpoint.recoveries(), *this) {
  const auto is_polled = [](const auto& rail) { return rail->placement() == Placement::polled; };
  const bool receives = !std::ranges::all_of(endpoint.rails(), is_polled);
  for (const auto& rail : endpoint.rails()) {
    lanes_.push_back(std::make_unique<RcLane>(*rail, *this, lanes_.size(), receives));
    immediate_ = immediate_ || lanes_.back()->wants_immediate();
  }
  // Shared memory, so that the software device can write it by plain stores; to hardware it is
  // memory like any other.
  const File file = make_memory_file("weft-connection", memory_bytes());
  memory_ = Mapping(file.get(), memory_bytes());
  immediate_ ? use_announced_inbox(memory_.data(), announced_) : use_polled_inbox(memory_.data());
  outbox_ = memory_.data() + kInboxBytes;
  registration_ = endpoint.register_memory(memory_.data(), memory_.size());
  for (const auto& lane : lanes_) {
    if (immediate_) lane->expect_immediate();
    if (const char* refused = lane->reset(0)) {
      throw_errno(fmt::format("ibv_modify_qp({}, {})", lane->rail().describe(), refused));
    }
  }
}

std::string RcWire::address() const {
  std::string text;
  for (const auto& lane : lanes_) {
    RcAddress one = lane->address();
    one.key = endpoint_.region(registration_.rkey()).rkeys[lane->number()];
    one.immediate = immediate_ ? 1 : 0;
    one.inbox = reinterpret_cast<std::uint64_t>(inbox_);
    text.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  return text;
}

void RcWire::connect(std::string_view peer_address) {
  const std::size_t count = peer_address.size() / sizeof(RcAddress);
  if (count == 0 || peer_address.size() % sizeof(RcAddress) != 0) {
    throw Error("connection address of a different build");
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
  }
  recovery_.start(std::move(started));
}

Received RcWire::received() const noexcept {
  return {windows_finished(mailbox()), consumed_};
}

bool RcWire::is_closed_by_peer() const noexcept {
  return verbs::is_closed_by_peer(mailbox());
}

/// Announces the bytes that `immediate` names; others that the peer wrote may not have arrived.
void RcWire::arrive(RcLane& lane, std::uint32_t immediate) noexcept {
  const std::size_t offset = std::size_t{immediate >> 16} * 8;
  const std::size_t bytes = std::size_t{immediate & 0xffff} * 8;
  if (!announced_.update(inbox_, offset, bytes)) {
    return recovery_.fail("the peer wrote past the inbox");
  }
  if (!lane.post_receive()) recovery_.lane_failed(lane, "ibv_post_recv failed", true);
}

Status RcWire::post(RcLane& lane, ibv_send_wr& request) noexcept {
  if (lane.is_full()) {
    endpoint_.poll();
    if (!recovery_.is_running() || !lane.is_ready()) return not_now();
  }
  const Status status = lane.post(request);
  if (status != Status::failed) return status;
  recovery_.lane_failed(lane, "ibv_post_send failed", true);
  return not_now();
}

/// Commits change lanes only when none is under way, so that none overtakes another, and not where
/// they come with a completion each: the peer could see these in another order.
void RcWire::choose_commit_lane() noexcept {
  const auto usable = [this](std::size_t lane) { return lanes_[lane]->is_ready(); };
  const std::size_t best = *std::ranges::find_if(order_, usable);
  const RcLane& now = *lanes_[commits_];
  if (best == commits_) return;
  if (!now.is_ready() || (now.is_drained() && now.peer().immediate == 0)) commits_ = best;
}

Status RcWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  if (!recovery_.is_running()) return not_now();
  if (lanes_.size() > 1) choose_commit_lane();
  RcLane& lane = *lanes_[commits_];
  std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(outbox_ + offset),
                static_cast<std::uint32_t>(bytes),
                endpoint_.region(registration_.lkey()).lkeys[commits_]};
  const RcAddress& peer = lane.peer();
  ibv_send_wr request{};
  request.opcode = peer.immediate != 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request.imm_data = htobe32(pack(offset, bytes));
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = bytes <= lane.inline_bytes() ? IBV_SEND_INLINE : 0;
  request.wr.rdma.remote_addr = peer.inbox + offset;
  request.wr.rdma.rkey = peer.key;
  return post(lane, request);
}

/// A completion announces all bytes at once, and adapters that are polled place them in order. The
/// software device only places the last 8 bytes last.
bool RcWire::joins_commits() const noexcept {
  const RcAddress& peer = lanes_[commits_]->peer();
  return peer.immediate != 0 || peer.software == 0;
}

/// The lane with the smallest share of the puts under way, the nearest of several. Null when no
/// lane has keys for both ends' memory.
RcLane* RcWire::least_used(const RemoteKeys& keys, std::uint32_t local_key) const noexcept {
  if (lanes_.size() == 1) return lanes_.front().get();
  const Endpoint::Region& region = endpoint_.region(local_key);
  RcLane* best = nullptr;
  for (const std::size_t number : order_) {
    RcLane& lane = *lanes_[number];
    if (!lane.is_ready() || keys[number] == 0 || region.lkeys[number] == 0) continue;
    if (best == nullptr || lane.share_bytes < best->share_bytes) best = &lane;
  }
  return best;
}

Status RcWire::put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
                   std::uint32_t local_key, std::size_t bytes) noexcept {
  if (!recovery_.is_running()) return not_now();
  RcLane* lane = least_used(keys, local_key);
  if (lane == nullptr) {
    recovery_.fail("memory is not registered with any rail that is left");
    return Status::failed;
  }
  ibv_sge piece{reinterpret_cast<std::uint64_t>(local), static_cast<std::uint32_t>(bytes),
                endpoint_.region(local_key).lkeys[lane->number()]};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = keys[lane->number()];
  const Status status = post(*lane, request);
  if (status != Status::ok) return status;
  lane->mark_put();
  lane->share_bytes += bytes;
  ++puts_;
  return Status::ok;
}

bool RcWire::lands_in_order() const noexcept {
  return std::ranges::all_of(
      lanes_, [this](const auto& lane) { return lane->number() == commits_ || lane->puts_done(); });
}

std::size_t RcWire::lanes_in_use() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, &RcLane::is_ready));
}

bool RcWire::is_drained() const noexcept {
  return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->is_drained(); });
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

Status RcWire::poll() noexcept {
  // An end that only waits must receive notices, too, though they are rare.
  const bool due = ++quiet_polls_ % kQuietPolls == 0;
  const auto expects = [](const auto& lane) { return lane->expects_completion(); };
  if (immediate_ || due || is_recovering() || std::ranges::any_of(lanes_, expects)) {
    endpoint_.poll();
  }
  return recovery_.has_failed() ? Status::failed : Status::ok;
}

void RcWire::complete(RcLane& lane, const ibv_wc& completion) noexcept {
  if (!lane.is_current(completion) || recovery_.has_failed()) return;
  if (completion.status != IBV_WC_SUCCESS) {
    const char* why = lane.rail().library().wc_status_str(completion.status);
    return recovery_.lane_failed(lane, why, is_recoverable(completion.status));
  }
  if ((completion.opcode & IBV_WC_RECV) != 0) return arrive(lane, be32toh(completion.imm_data));
  lane.complete(completion);
  const auto done = [](const auto& one) { return one->puts_done(); };
  if (puts_done_ == puts_ || !std::ranges::all_of(lanes_, done)) return;
  puts_done_ = puts_;
  for (const auto& one : lanes_) one->share_bytes = 0;
}

Received RcWire::resume() noexcept {
  puts_done_ = puts_;
  return recovery_.resume();
}

}  // namespace weft::verbs
