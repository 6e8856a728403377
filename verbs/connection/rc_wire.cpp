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

// A look at the device after so many turns in which this wire waits for nothing from it.
constexpr std::uint32_t kQuietPolls = 256;

/// What a write with immediate says: which bytes of the inbox it wrote. Both are multiples of 8.
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
      commits_(order_.front()) {
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
  immediate_ ? listen(memory_.data(), heard_) : watch(memory_.data());
  outbox_ = memory_.data() + kInboxBytes;
  registration_ = endpoint.register_memory(memory_.data(), memory_.size());
  for (const auto& lane : lanes_) {
    if (const char* refused = lane->reset(0, immediate_)) {
      throw_errno(fmt::format("ibv_modify_qp({}, {})", lane->rail().describe(), refused));
    }
  }
  endpoint.wires_.push_back(this);
}

RcWire::~RcWire() {
  // A peer that would still mend it need not wait for its deadline.
  if (is_troubled() || failure_[0] != '\0') tell_all(Notice::kGone);
  set_phase(Phase::running);
  lanes_.clear();
  count_limping();
  std::erase(endpoint_.wires_, this);
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
  for (const auto& lane : lanes_) {
    RcAddress peer;
    std::memcpy(&peer, peer_address.data() + lane->number() * sizeof peer, sizeof peer);
    lane->set_peer(peer);
    if (const char* refused = lane->start()) {
      throw_errno(fmt::format("ibv_modify_qp({}, {})", lane->rail().describe(), refused));
    }
    lane->up = lane->ready = true;
  }
}

/// A completion says what is there, and only that: the rest of what the peer writes may be on its
/// way.
void RcWire::arrive(RcLane& lane, std::uint32_t immediate) noexcept {
  const std::size_t offset = std::size_t{immediate >> 16} * 8;
  const std::size_t bytes = std::size_t{immediate & 0xffff} * 8;
  if (!heard_.hear(inbox_, offset, bytes)) return give_up("the peer wrote past the inbox");
  if (!lane.post_receive()) broke(lane, "ibv_post_recv failed", true);
}

Status RcWire::post(RcLane& lane, ibv_send_wr& request) noexcept {
  if (lane.is_full()) {
    endpoint_.poll();
    if (failure_[0] != '\0') return Status::failed;
    if (is_troubled() || !lane.ready) return Status::again;
  }
  const Status status = lane.post(request);
  if (status != Status::failed) return status;
  broke(lane, "ibv_post_send failed", true);
  return failure_[0] == '\0' ? Status::again : Status::failed;
}

/// Commits may change over where none is under way: never one that overtakes another. Where each is
/// a completion these could be seen in another order.
void RcWire::choose_commit_lane() noexcept {
  const auto usable = [this](std::size_t lane) { return lanes_[lane]->ready; };
  const std::size_t best = *std::ranges::find_if(order_, usable);
  const RcLane& now = *lanes_[commits_];
  if (best == commits_) return;
  if (!now.ready || (now.is_drained() && now.peer().immediate == 0)) commits_ = best;
}

Status RcWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  if (!is_sound()) return failure_[0] == '\0' ? Status::again : Status::failed;
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

/// A completion hands on all bytes at once, and an adapter that places them in order does what is
/// asked for. The software device is in order only as to the last 8.
bool RcWire::joins_commits() const noexcept {
  const RcAddress& peer = lanes_[commits_]->peer();
  return peer.immediate != 0 || peer.software == 0;
}

/// The lane with the least share of the puts under way; the nearest of those. Null when none may
/// touch both ends' memory.
RcLane* RcWire::least_used(const RemoteKeys& keys, std::uint32_t local_key) const noexcept {
  if (lanes_.size() == 1) return lanes_.front().get();
  const Endpoint::Region& region = endpoint_.region(local_key);
  RcLane* best = nullptr;
  for (const std::size_t number : order_) {
    RcLane& lane = *lanes_[number];
    if (!lane.ready || keys[number] == 0 || region.lkeys[number] == 0) continue;
    if (best == nullptr || lane.share_bytes < best->share_bytes) best = &lane;
  }
  return best;
}

Status RcWire::put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
                   std::uint32_t local_key, std::size_t bytes) noexcept {
  if (!is_sound()) return failure_[0] == '\0' ? Status::again : Status::failed;
  RcLane* lane = least_used(keys, local_key);
  if (lane == nullptr) {
    give_up("memory is not registered with any rail that is left");
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

std::size_t RcWire::ways() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, &RcLane::ready));
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
  // What ends that only listen must hear, too, comes rarely.
  const bool due = ++quiet_polls_ % kQuietPolls == 0;
  const auto expects = [](const auto& lane) { return lane->expects_completion(); };
  if (immediate_ || due || is_troubled() || std::ranges::any_of(lanes_, expects)) {
    endpoint_.poll();
  }
  return failure_[0] == '\0' ? Status::ok : Status::failed;
}

void RcWire::complete(RcLane& lane, const ibv_wc& completion) noexcept {
  if (!lane.is_current(completion) || failure_[0] != '\0') return;
  if (completion.status != IBV_WC_SUCCESS) return broke(lane, completion.status);
  if ((completion.opcode & IBV_WC_RECV) != 0) return arrive(lane, be32toh(completion.imm_data));
  lane.complete(completion);
  const auto done = [](const auto& one) { return one->puts_done(); };
  if (puts_done_ == puts_ || !std::ranges::all_of(lanes_, done)) return;
  puts_done_ = puts_;
  for (const auto& one : lanes_) one->share_bytes = 0;
}

}  // namespace weft::verbs
