#include "verbs/connection/rc_lane.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace weft::verbs {

namespace {

constexpr std::uint32_t kDepth = 64;
// One request in so many asks for a completion: few completions, in time before the queue is full.
constexpr std::uint64_t kSignalEvery = 16;
constexpr std::uint32_t kWantedInlineBytes = 256;
constexpr unsigned kNumberBits = 40;  // of a work request's id, below its epoch
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;

/// The first packet sequence number of a connection. A late packet of an earlier connection between
/// the same two queue pairs then has a number that is not expected.
constexpr std::uint32_t packet_sequence(std::uint32_t pair, std::uint32_t epoch) noexcept {
  return (pair + epoch * 0x9e3779) & 0xffffff;
}

/// UsageError when two ports cannot reach each other, and Error when two software devices cannot.
void expect_same_fabric(const Rail& rail, const RcAddress& peer) {
  const PortAddress& own = rail.address();
  const std::string here = rail.describe();
  if ((peer.software != 0) != rail.software()) {
    const std::string why = fmt::format(
        "{} here, {} at the peer: both ends must use a device of one kind (WEFT_DEVICE)", here,
        peer.software != 0 ? "the software device" : "hardware");
    if (rail.settings().ports.empty()) throw Error(why);  // nobody has chosen this
    throw UsageError(why);
  }
  // No setting is wrong there: what cannot be connected is left to the caller.
  if (rail.software() && peer.fabric != rail.library().fabric) {
    throw Error(
        "the peer's software device is on another machine, in another network namespace or "
        "another user's: only a network adapter can reach it");
  }
  if ((peer.ethernet != 0) != own.ethernet) {
    throw_usage(
        "{} here, another link layer at the peer: choose devices of one fabric (WEFT_DEVICE)",
        here);
  }
  if (own.ethernet && peer.gid_type != own.gid.type) {
    throw_usage("{} here, {} at the peer: both ends must use one (WEFT_GID_TYPE)",
                to_string(own.gid.type), to_string(peer.gid_type));
  }
  if (own.ethernet && peer.gid_family != own.gid.family()) {
    throw_usage("IPv{} here, IPv{} at the peer: both ends must use one (WEFT_GID_FAMILY)",
                own.gid.family() == GidFamily::ipv4 ? 4 : 6,
                peer.gid_family == GidFamily::ipv4 ? 4 : 6);
  }
  // The upper bit marks full members of a partition; two limited members may not communicate.
  if (((peer.partition ^ own.partition) & 0x7fff) != 0 ||
      ((peer.partition | own.partition) & 0x8000) == 0) {
    throw_usage("P_Key {:#06x} here, {:#06x} at the peer: not in one partition (WEFT_PKEY)",
                own.partition, peer.partition);
  }
}

/// The route to the peer: by its GID on Ethernet, by its LID within an InfiniBand subnet.
ibv_ah_attr route(const Rail& rail, const RcAddress& peer) {
  const PortAddress& own = rail.address();
  const PortSettings& settings = rail.settings();
  ibv_ah_attr attributes{};
  attributes.port_num = rail.port();
  attributes.dlid = peer.lid;
  attributes.sl = settings.service_level;
  const bool other_subnet =
      peer.gid.global.subnet_prefix != own.gid.gid.global.subnet_prefix && own.gid.index >= 0;
  if (own.ethernet || own.global_required || peer.global_required != 0 || other_subnet ||
      settings.gid_index) {
    attributes.is_global = 1;
    attributes.grh.dgid = peer.gid;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(own.gid.index);
    attributes.grh.hop_limit = 64;
    attributes.grh.traffic_class = settings.traffic_class;
  }
  return attributes;
}

}  // namespace

RcLane::RcLane(Rail& rail, Connection& connection, std::size_t number, bool receives)
    : rail_(rail), connection_(connection), number_(number) {
  const Library& library = rail.library();
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {kDepth, receives ? kDepth : 1, 1, 1, kWantedInlineBytes};
  // Each request has a completion when the queue pair breaks, and those of the epoch before may
  // still be in the queue.
  room_ = static_cast<int>(2 * (wanted.cap.max_send_wr + wanted.cap.max_recv_wr));
  queue_ = wanted.send_cq = wanted.recv_cq = rail.take_room(room_);
  pair_ = library.create_qp(rail.handles_.domain, &wanted);
  while (pair_ == nullptr && errno == EINVAL && wanted.cap.max_inline_data > 0) {
    wanted.cap.max_inline_data /= 2;  // adapters do not report their limit
    pair_ = library.create_qp(rail.handles_.domain, &wanted);
  }
  if (pair_ == nullptr) {
    rail.give_room(queue_, room_);
    throw_errno(fmt::format("ibv_create_qp({})", rail.describe()));
  }
  inline_bytes_ = wanted.cap.max_inline_data;
  depth_ = std::min(wanted.cap.max_send_wr, kDepth);
  wants_immediate_ = rail.placement() == Placement::immediate;
  if (rail.placement() == Placement::unknown) {
    wants_immediate_ = library.query_qp_data_in_order == nullptr ||
                       library.query_qp_data_in_order(pair_, IBV_WR_RDMA_WRITE, 0) == 0;
  }
  rail.lanes_[pair_->qp_num] = this;
}

RcLane::~RcLane() {
  stop_answering();
  if (control_address_ != nullptr) rail_.control()->destroy_address(control_address_);
  rail_.lanes_.erase(pair_->qp_num);
  rail_.library().destroy_qp(pair_);
  rail_.give_room(queue_, room_);
}

RcAddress RcLane::address() const {
  const PortAddress& own = rail_.address();
  RcAddress address;
  address.queue_pair = pair_->qp_num;
  if (rail_.control() != nullptr) address.control = rail_.control()->address();
  if (rail_.responder() != nullptr) address.responder = rail_.responder()->address();
  address.lid = own.lid;
  address.partition = own.partition;
  address.software = rail_.software() ? 1 : 0;
  address.fabric = rail_.library().fabric;
  address.ethernet = own.ethernet ? 1 : 0;
  address.global_required = own.global_required ? 1 : 0;
  address.mtu = static_cast<std::uint8_t>(own.mtu);
  address.gid_type = own.gid.type;
  address.gid_family = own.gid.family();
  address.gid = own.gid.gid;
  return address;
}

void RcLane::set_peer(const RcAddress& peer) {
  expect_same_fabric(rail_, peer);
  peer_ = peer;
  if (!has_control() || rail_.responder() == nullptr) return;
  rail_.responder()->add(pair_->qp_num, {peer.queue_pair, peer.control, route(rail_, peer)});
}

bool RcLane::modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) noexcept {
  attributes.qp_state = state;
  const int error = rail_.library().modify_qp(pair_, &attributes, mask | IBV_QP_STATE);
  if (error > 0) errno = error;
  return error == 0;
}

const char* RcLane::reset(std::uint32_t epoch) noexcept {
  epoch_ = epoch;
  posted_ = completed_ = signalled_ = last_put_ = share_bytes = 0;
  ibv_qp_attr reset{};
  if (!modify(reset, IBV_QPS_RESET, 0)) return "RESET";
  ibv_qp_attr init{};
  init.port_num = rail_.port();
  init.pkey_index = static_cast<std::uint16_t>(rail_.address().partition_index);
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (!modify(init, IBV_QPS_INIT, mask)) return "INIT";
  for (std::uint32_t i = 0; expects_immediate_ && i < kDepth; ++i) {
    if (!post_receive()) return "INIT, ibv_post_recv";
  }
  return nullptr;
}

const char* RcLane::start() noexcept {
  ibv_qp_attr receive{};
  receive.path_mtu = std::min(static_cast<ibv_mtu>(peer_.mtu), rail_.address().mtu);
  receive.dest_qp_num = peer_.queue_pair;
  receive.rq_psn = packet_sequence(peer_.queue_pair, epoch_);
  receive.max_dest_rd_atomic = 1;
  receive.min_rnr_timer = 12;
  receive.ah_attr = route(rail_, peer_);
  if (!modify(receive, IBV_QPS_RTR,
              IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
    return "RTR";
  }
  ibv_qp_attr send{};
  send.timeout = rail_.settings().timeout;
  send.retry_cnt = rail_.settings().retries;
  send.rnr_retry = 7;
  send.sq_psn = packet_sequence(pair_->qp_num, epoch_);
  send.max_rd_atomic = 1;
  const bool done = modify(send, IBV_QPS_RTS,
                           IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                               IBV_QP_MAX_QP_RD_ATOMIC);
  return done ? nullptr : "RTS";
}

bool RcLane::post_receive() noexcept {
  ibv_recv_wr wanted{};
  wanted.wr_id = std::uint64_t{epoch_} << kNumberBits;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(pair_, &wanted, &bad) == 0;
}

Status RcLane::post(ibv_send_wr& wanted) noexcept {
  if (is_full()) return Status::again;
  const bool signal = (wanted.send_flags & IBV_SEND_SIGNALED) != 0 ||
                      posted_ + 1 - signalled_ >= std::min<std::uint64_t>(kSignalEvery, depth_);
  if (signal) wanted.send_flags |= IBV_SEND_SIGNALED;
  wanted.wr_id = std::uint64_t{epoch_} << kNumberBits | (posted_ + 1);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pair_, &wanted, &bad);
  if (error == ENOMEM) return Status::again;
  if (error != 0) return Status::failed;
  ++posted_;
  if (signal) signalled_ = posted_;
  rail_.sent_bytes_ += wanted.sg_list->length;
  return Status::ok;
}

bool RcLane::is_current(const ibv_wc& completion) const noexcept {
  return completion.wr_id >> kNumberBits == epoch_;
}

void RcLane::complete(const ibv_wc& completion) noexcept {
  completed_ = std::max(completed_, completion.wr_id & kNumberMask);
  note_success();
}

void RcLane::send(Notice& notice, const ControlAddress& to) noexcept {
  if (!has_control()) return;
  if (control_address_ == nullptr) {
    control_address_ = rail_.control()->create_address(route(rail_, peer_));
  }
  if (control_address_ == nullptr) return;
  notice.to = peer_.queue_pair;
  notice.from = pair_->qp_num;
  rail_.control()->send(control_address_, to, notice);
}

void RcLane::stop_answering() noexcept {
  if (rail_.responder() != nullptr) rail_.responder()->remove(pair_->qp_num);
}

}  // namespace weft::verbs
