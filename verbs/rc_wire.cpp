#include "verbs/rc_wire.hpp"

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

/// What the other end must know. Sent as bytes: both ends run the same build.
struct Address {
  std::uint32_t queue_pair = 0;
  std::uint32_t packet_sequence = 0;
  std::uint32_t key = 0;
  std::uint16_t lid = 0;
  std::uint8_t software = 0;
  std::uint8_t link_layer = 0;
  std::uint8_t mtu = 0;
  std::uint8_t inbox_layout = 0;
  std::uint16_t reserved = 0;
  std::uint64_t inbox = 0;
  ibv_gid gid{};
};

}  // namespace

std::size_t RcWire::memory_bytes() {
  return 2 * kInboxBytes;
}

RcWire::RcWire(Endpoint& endpoint) : endpoint_(endpoint) {
  // Shared memory, so that the software device can write it by plain stores; to hardware it is
  // memory like any other.
  const File file = make_memory_file("weft-connection", round_up(memory_bytes(), kAlignment));
  memory_ = Mapping(file.get(), round_up(memory_bytes(), kAlignment));
  inbox_ = memory_.data();
  outbox_ = inbox_ + kInboxBytes;
  registration_ = endpoint.register_memory(memory_.data(), memory_.size());

  ibv_qp_init_attr wanted{};
  wanted.send_cq = endpoint.handles_.queue;
  wanted.recv_cq = endpoint.handles_.queue;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {kDepth, 1, 1, 1, kWantedInlineBytes};
  const Library& library = endpoint.library();
  pair_ = library.create_qp(endpoint.handles_.domain, &wanted);
  while (pair_ == nullptr && errno == EINVAL && wanted.cap.max_inline_data > 0) {
    wanted.cap.max_inline_data /= 2;  // adapters differ, and none says its limit beforehand
    pair_ = library.create_qp(endpoint.handles_.domain, &wanted);
  }
  if (pair_ == nullptr) throw_errno(fmt::format("ibv_create_qp({})", endpoint.describe()));
  inline_bytes_ = wanted.cap.max_inline_data;
  depth_ = std::min(wanted.cap.max_send_wr, kDepth);
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = endpoint.port_;
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  modify(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
  endpoint.wires_[pair_->qp_num] = this;
}

RcWire::~RcWire() {
  if (pair_ == nullptr) return;
  endpoint_.wires_.erase(pair_->qp_num);
  endpoint_.library().destroy_qp(pair_);
}

std::string RcWire::address() const {
  Address address;
  address.queue_pair = pair_->qp_num;
  address.packet_sequence = pair_->qp_num & 0xffffff;
  address.key = registration_.rkey();
  address.lid = endpoint_.port_attributes_.lid;
  address.software = endpoint_.software() ? 1 : 0;
  address.link_layer = endpoint_.port_attributes_.link_layer;
  address.mtu = static_cast<std::uint8_t>(endpoint_.port_attributes_.active_mtu);
  address.inbox = reinterpret_cast<std::uint64_t>(inbox_);
  address.gid = endpoint_.gid_;
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

void RcWire::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = endpoint_.library().modify_qp(pair_, &attributes, mask);
  if (error != 0) {
    throw SystemError(fmt::format("ibv_modify_qp({}, {})", endpoint_.describe(), state),
                      error > 0 ? error : errno);
  }
}

void RcWire::connect(std::string_view peer_address) {
  Address peer;
  if (peer_address.size() != sizeof peer) throw Error("connection address of a different build");
  std::memcpy(&peer, peer_address.data(), sizeof peer);
  if ((peer.software != 0) != endpoint_.software()) {
    throw_usage("{} here, {} at the peer: both ends must use a device of one kind (WEFT_DEVICE)",
                endpoint_.describe(), peer.software != 0 ? "the software device" : "hardware");
  }
  if (peer.link_layer != endpoint_.port_attributes_.link_layer) {
    throw_usage(
        "{} here, another link layer at the peer: choose devices of one fabric (WEFT_DEVICE)",
        endpoint_.describe());
  }
  remote_inbox_ = peer.inbox;
  remote_key_ = peer.key;

  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu =
      static_cast<ibv_mtu>(std::min<int>(peer.mtu, endpoint_.port_attributes_.active_mtu));
  ready.dest_qp_num = peer.queue_pair;
  ready.rq_psn = peer.packet_sequence;
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = 12;
  ready.ah_attr.port_num = endpoint_.port_;
  ready.ah_attr.dlid = peer.lid;
  // Ethernet has no LIDs; on InfiniBand the LID is enough within a subnet.
  if (peer.link_layer == IBV_LINK_LAYER_ETHERNET) {
    ready.ah_attr.is_global = 1;
    ready.ah_attr.grh.dgid = peer.gid;
    ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(endpoint_.gid_index_);
    ready.ah_attr.grh.hop_limit = 64;
  }
  modify(ready,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         "RTR");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = 14;
  send.retry_cnt = 7;
  send.rnr_retry = 7;
  send.sq_psn = pair_->qp_num & 0xffffff;
  send.max_rd_atomic = 1;
  modify(send,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

Status RcWire::post(ibv_send_wr& request) noexcept {
  if (posted_ - completed_ == depth_) {
    endpoint_.poll();
    if (failure_[0] != '\0') return Status::failed;
    if (posted_ - completed_ == depth_) return Status::again;
  }
  const bool signal = signal_next_ || (request.send_flags & IBV_SEND_SIGNALED) != 0 ||
                      posted_ + 1 - signalled_ >= std::min<std::uint64_t>(kSignalEvery, depth_);
  if (signal) request.send_flags |= IBV_SEND_SIGNALED;
  request.wr_id = posted_ + 1;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pair_, &request, &bad);
  if (error == ENOMEM) return Status::again;
  if (error != 0) {
    failure_ = "ibv_post_send failed";
    return Status::failed;
  }
  ++posted_;
  if (signal) signalled_ = posted_;
  signal_next_ = false;
  return Status::ok;
}

Status RcWire::commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept {
  std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(outbox_ + offset),
                static_cast<std::uint32_t>(bytes), registration_.lkey()};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = bytes <= inline_bytes_ ? IBV_SEND_INLINE : 0;
  request.wr.rdma.remote_addr = remote_inbox_ + offset;
  request.wr.rdma.rkey = remote_key_;
  return post(request);
}

Status RcWire::put(std::uint64_t remote, std::uint32_t remote_key, const std::byte* local,
                   std::uint32_t local_key, std::size_t bytes) noexcept {
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

Status RcWire::poll() noexcept {
  if (signalled_ > completed_) endpoint_.poll();
  return failure_[0] == '\0' ? Status::ok : Status::failed;
}

void RcWire::complete(const ibv_wc& completion) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    // The first error is the cause; those after it are flushes.
    if (failure_[0] == '\0') failure_ = endpoint_.library().wc_status_str(completion.status);
    return;
  }
  // Completions of a queue pair come in order: this one stands for all before it.
  completed_ = std::max(completed_, completion.wr_id);
  if (completed_ >= last_put_.request) puts_done_ = last_put_.put;
}

}  // namespace weft::verbs
