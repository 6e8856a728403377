#include "verbs/rc_wire.hpp"

#include <endian.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "verbs/channel.hpp"

namespace weft::verbs {

namespace {

constexpr std::uint32_t kDepth = 64;
// A completion every so many requests: few events, and room before the queue is full.
constexpr std::uint64_t kSignalEvery = 16;
constexpr std::uint32_t kWantedInlineBytes = 256;
constexpr std::size_t kAlignment = 4096;

// A look at the device after so many turns in which this wire waits for nothing from it.
constexpr std::uint32_t kQuietPolls = 256;

/// Where the packets of a connection begin to be numbered, so that a late one of an earlier
/// connection between the same two queue pairs has a number that is not expected.
constexpr std::uint32_t packet_sequence(std::uint32_t pair, std::uint32_t epoch) noexcept {
  return (pair + epoch * 0x9e3779) & 0xffffff;
}

/// What a write with immediate says: which bytes of the inbox it wrote. Both are multiples of 8.
constexpr std::uint32_t pack(std::size_t offset, std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(offset / 8 << 16 | bytes / 8);
}
static_assert(kInboxBytes / 8 < 1 << 16);

}  // namespace

std::size_t RcWire::memory_bytes() {
  return 2 * kInboxBytes;
}

RcWire::RcWire(Endpoint& endpoint) : endpoint_(endpoint) {
  create_pair();
  // Shared memory, so that the software device can write it by plain stores; to hardware it is
  // memory like any other.
  const std::size_t bytes = round_up(memory_bytes() + (immediate_ ? kInboxBytes : 0), kAlignment);
  const File file = make_memory_file("weft-connection", bytes);
  memory_ = Mapping(file.get(), bytes);
  outbox_ = memory_.data() + kInboxBytes;
  inbox_ = immediate_ ? outbox_ + kInboxBytes : memory_.data();
  registration_ = endpoint.register_memory(memory_.data(), memory_.size());
  endpoint.wires_[pair_->qp_num] = this;
  if (const char* refused = initialize()) {
    throw_errno(fmt::format("ibv_modify_qp({}, {})", endpoint.describe(), refused));
  }
}

void RcWire::create_pair() {
  const Library& library = endpoint_.library();
  ibv_qp_init_attr wanted{};
  wanted.send_cq = endpoint_.handles_.queue;
  wanted.recv_cq = endpoint_.handles_.queue;
  wanted.qp_type = IBV_QPT_RC;
  const std::uint32_t receives = endpoint_.placement() == Placement::polled ? 1 : kDepth;
  wanted.cap = {kDepth, receives, 1, 1, kWantedInlineBytes};
  pair_ = library.create_qp(endpoint_.handles_.domain, &wanted);
  while (pair_ == nullptr && errno == EINVAL && wanted.cap.max_inline_data > 0) {
    wanted.cap.max_inline_data /= 2;  // adapters differ, and none says its limit beforehand
    pair_ = library.create_qp(endpoint_.handles_.domain, &wanted);
  }
  if (pair_ == nullptr) throw_errno(fmt::format("ibv_create_qp({})", endpoint_.describe()));
  inline_bytes_ = wanted.cap.max_inline_data;
  depth_ = std::min(wanted.cap.max_send_wr, kDepth);
  immediate_ = endpoint_.placement() == Placement::immediate;
  if (endpoint_.placement() == Placement::unknown) {
    immediate_ = library.query_qp_data_in_order == nullptr ||
                 library.query_qp_data_in_order(pair_, IBV_WR_RDMA_WRITE, 0) == 0;
  }
}

const char* RcWire::initialize() noexcept {
  ibv_qp_attr init{};
  init.port_num = endpoint_.port_;
  init.pkey_index = static_cast<std::uint16_t>(endpoint_.address_.partition_index);
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (!modify(init, IBV_QPS_INIT, mask)) return "INIT";
  for (std::uint32_t i = 0; immediate_ && i < kDepth; ++i) {
    if (!post_receive()) return "INIT, ibv_post_recv";
  }
  return nullptr;
}

bool RcWire::post_receive() noexcept {
  ibv_recv_wr wanted{};
  wanted.wr_id = request(0);
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(pair_, &wanted, &bad) == 0;
}

/// Hands on what a completion says is there, and only that: the rest of what the peer writes may be
/// on its way.
void RcWire::arrive(std::uint32_t immediate) noexcept {
  const std::size_t offset = std::size_t{immediate >> 16} * 8;
  const std::size_t bytes = std::size_t{immediate & 0xffff} * 8;
  if (bytes < 8 || offset + bytes > kInboxBytes) {
    return give_up("the peer wrote past the inbox");
  }
  std::memcpy(inbox_ + offset, memory_.data() + offset, bytes);
  if (!post_receive()) give_up("ibv_post_recv failed");
}

RcWire::~RcWire() {
  if (pair_ == nullptr) return;
  forget_control();
  endpoint_.wires_.erase(pair_->qp_num);
  endpoint_.library().destroy_qp(pair_);
}

std::string RcWire::address() const {
  RcAddress address;
  address.queue_pair = pair_->qp_num;
  address.control = endpoint_.control() == nullptr ? 0 : endpoint_.control()->number();
  address.key = registration_.rkey();
  const PortAddress& own = endpoint_.address();
  address.lid = own.lid;
  address.partition = own.partition;
  address.software = endpoint_.software() ? 1 : 0;
  address.ethernet = own.ethernet ? 1 : 0;
  address.global_required = own.global_required ? 1 : 0;
  address.mtu = static_cast<std::uint8_t>(own.mtu);
  address.gid_type = own.gid.type;
  address.gid_family = own.gid.family();
  address.immediate = immediate_ ? 1 : 0;
  address.inbox = reinterpret_cast<std::uint64_t>(memory_.data());
  address.gid = own.gid.gid;
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

bool RcWire::modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) noexcept {
  attributes.qp_state = state;
  const int error = endpoint_.library().modify_qp(pair_, &attributes, mask | IBV_QP_STATE);
  if (error > 0) errno = error;
  return error == 0;
}

void RcWire::connect(std::string_view peer_address) {
  if (peer_address.size() != sizeof peer_) throw Error("connection address of a different build");
  std::memcpy(&peer_, peer_address.data(), sizeof peer_);
  expect_same_fabric(endpoint_, peer_);
  if (const char* refused = start()) {
    throw_errno(fmt::format("ibv_modify_qp({}, {})", endpoint_.describe(), refused));
  }
}

const char* RcWire::start() noexcept {
  ibv_qp_attr ready{};
  ready.path_mtu = std::min(static_cast<ibv_mtu>(peer_.mtu), endpoint_.address().mtu);
  ready.dest_qp_num = peer_.queue_pair;
  ready.rq_psn = packet_sequence(peer_.queue_pair, epoch_);
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = 12;
  ready.ah_attr = route(endpoint_, peer_);
  if (!modify(ready, IBV_QPS_RTR,
              IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
    return "RTR";
  }
  ibv_qp_attr send{};
  send.timeout = endpoint_.settings().timeout;
  send.retry_cnt = endpoint_.settings().retries;
  send.rnr_retry = 7;
  send.sq_psn = packet_sequence(pair_->qp_num, epoch_);
  send.max_rd_atomic = 1;
  const bool done = modify(send, IBV_QPS_RTS,
                           IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                               IBV_QP_MAX_QP_RD_ATOMIC);
  return done ? nullptr : "RTS";
}

Status RcWire::post(ibv_send_wr& wanted) noexcept {
  if (posted_ - completed_ == depth_) {
    endpoint_.poll();
    if (failure_[0] != '\0') return Status::failed;
    if (is_troubled()) return Status::again;
    if (posted_ - completed_ == depth_) return Status::again;
  }
  const bool signal = signal_next_ || (wanted.send_flags & IBV_SEND_SIGNALED) != 0 ||
                      posted_ + 1 - signalled_ >= std::min<std::uint64_t>(kSignalEvery, depth_);
  if (signal) wanted.send_flags |= IBV_SEND_SIGNALED;
  wanted.wr_id = request(posted_ + 1);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pair_, &wanted, &bad);
  if (error == ENOMEM) return Status::again;
  if (error != 0) {
    give_up("ibv_post_send failed");
    return Status::failed;
  }
  ++posted_;
  if (signal) signalled_ = posted_;
  signal_next_ = false;
  return Status::ok;
}

Status RcWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  if (is_troubled()) return failure_[0] == '\0' ? Status::again : Status::failed;
  std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(outbox_ + offset),
                static_cast<std::uint32_t>(bytes), registration_.lkey()};
  ibv_send_wr request{};
  request.opcode = peer_.immediate != 0 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request.imm_data = htobe32(pack(offset, bytes));
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = bytes <= inline_bytes_ ? IBV_SEND_INLINE : 0;
  request.wr.rdma.remote_addr = peer_.inbox + offset;
  request.wr.rdma.rkey = peer_.key;
  return post(request);
}

Status RcWire::put(std::uint64_t remote, std::uint32_t remote_key, const std::byte* local,
                   std::uint32_t local_key, std::size_t bytes) noexcept {
  if (is_troubled()) return failure_[0] == '\0' ? Status::again : Status::failed;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(local), static_cast<std::uint32_t>(bytes),
                local_key};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = remote_key;
  const Status status = post(request);
  if (status != Status::ok) return status;
  last_put_ = {posted_, ++puts_};
  return Status::ok;
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
    bounces_[i] = {bounce_memory_.data() + i * kBounceBytes, bounce_registration_.lkey(),
                   bounce_registration_.rkey()};
  }
  return &bounces_[half];
}

Status RcWire::poll() noexcept {
  // What ends that only listen must hear, too, comes rarely.
  const bool due = ++quiet_polls_ % kQuietPolls == 0;
  if (immediate_ || signalled_ > completed_ || is_troubled() || due) endpoint_.poll();
  return failure_[0] == '\0' ? Status::ok : Status::failed;
}

void RcWire::complete(const ibv_wc& completion) noexcept {
  if (completion.wr_id >> kNumberBits != epoch_ || failure_[0] != '\0') return;
  if (completion.status != IBV_WC_SUCCESS) return broke(completion.status);
  if ((completion.opcode & IBV_WC_RECV) != 0) return arrive(be32toh(completion.imm_data));
  // Completions of a queue pair come in order: this one stands for all before it.
  completed_ = std::max(completed_, completion.wr_id & ((std::uint64_t{1} << kNumberBits) - 1));
  if (completed_ >= last_put_.request) puts_done_ = last_put_.put;
}

}  // namespace weft::verbs
