#include "verbs/control/control_path.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/random.hpp"

namespace weft::verbs {

namespace {

constexpr std::uint32_t kKeys = 0x7fffffff;  // the upper half of keys is privileged
constexpr std::size_t kReceives = 64;
constexpr std::size_t kSends = 16;
constexpr std::size_t kRouteHeader = 40;  // GRH, before each datagram that arrives
constexpr std::size_t kDatagramBytes = 192;
static_assert(2 * (kReceives + kSends) <= ControlPath::kCompletions);
static_assert(kRouteHeader + sizeof(Notice) <= kDatagramBytes);

/// The id of a work request. It tells requests of earlier starts of the queue pair apart.
constexpr std::uint64_t request(std::uint64_t generation, std::size_t slot) noexcept {
  return generation << 8 | slot;
}

}  // namespace

ControlPath::ControlPath(const Library& library, const Port& port)
    : library_(library),
      port_(port),
      key_(static_cast<std::uint32_t>(random_token()) & kKeys),
      token_(random_token()) {
  const std::size_t bytes = (kReceives + kSends) * kDatagramBytes;
  const File file = make_memory_file("weft-control", bytes);
  memory_ = Mapping(file.get(), bytes);
  region_ = library.reg_mr(port.domain, memory_.data(), bytes, IBV_ACCESS_LOCAL_WRITE);
  if (region_ == nullptr) throw_errno(fmt::format("ibv_reg_mr({} bytes)", bytes));
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = port.queue;
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap = {kSends, kReceives, 1, 1, 0};
  pair_ = library.create_qp(port.domain, &wanted);
  const char* refused = pair_ == nullptr ? "ibv_create_qp(UD)" : start();
  if (refused == nullptr) return;
  const int error = errno;
  close();
  throw SystemError(refused, error);
}

ControlPath::~ControlPath() {
  close();
}

void ControlPath::close() noexcept {
  if (pair_ != nullptr) library_.destroy_qp(pair_);
  if (region_ != nullptr) library_.dereg_mr(region_);
}

std::byte* ControlPath::slot(std::size_t number) const noexcept {
  return memory_.data() + number * kDatagramBytes;
}

/// Takes the queue pair from any state to RTS. Returns the call that failed, or null.
const char* ControlPath::start() noexcept {
  ++generation_;
  sends_ = 0;
  ibv_qp_attr wanted{};
  const auto move = [&](ibv_qp_state state, int mask) {
    wanted.qp_state = state;
    return library_.modify_qp(pair_, &wanted, mask | IBV_QP_STATE) == 0;
  };
  wanted.port_num = port_.number;
  wanted.pkey_index = port_.partition_index;
  wanted.qkey = key_;
  if (!move(IBV_QPS_RESET, 0)) return "ibv_modify_qp(UD, RESET)";
  if (!move(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)) {
    return "ibv_modify_qp(UD, INIT)";
  }
  for (std::size_t i = 0; i < kReceives; ++i) {
    if (!post_receive(i)) return "ibv_post_recv(UD)";
  }
  if (!move(IBV_QPS_RTR, 0)) return "ibv_modify_qp(UD, RTR)";
  return move(IBV_QPS_RTS, IBV_QP_SQ_PSN) ? nullptr : "ibv_modify_qp(UD, RTS)";
}

bool ControlPath::post_receive(std::size_t number) noexcept {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(slot(number)), kDatagramBytes, region_->lkey};
  ibv_recv_wr wanted{};
  wanted.wr_id = request(generation_, number);
  wanted.sg_list = &piece;
  wanted.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(pair_, &wanted, &bad) == 0;
}

ibv_ah* ControlPath::create_address(ibv_ah_attr attributes) const noexcept {
  return library_.create_ah(port_.domain, &attributes);
}

void ControlPath::send(ibv_ah* route, const ControlAddress& to, Notice notice) noexcept {
  const auto free = static_cast<std::size_t>(std::countr_one(sends_));
  if (free >= kSends) return;
  notice.token = to.token;
  std::byte* memory = slot(kReceives + free);
  std::memcpy(memory, &notice, sizeof notice);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(memory), sizeof notice, region_->lkey};
  ibv_send_wr wanted{};
  wanted.wr_id = request(generation_, kReceives + free);
  wanted.opcode = IBV_WR_SEND;
  wanted.sg_list = &piece;
  wanted.num_sge = 1;
  wanted.send_flags = IBV_SEND_SIGNALED;
  wanted.wr.ud.ah = route;
  wanted.wr.ud.remote_qpn = to.pair;
  wanted.wr.ud.remote_qkey = to.key;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair_, &wanted, &bad) == 0) sends_ |= 1U << free;
}

bool ControlPath::complete(const ibv_wc& completion, Notice& notice) noexcept {
  if (completion.wr_id >> 8 != generation_) return false;
  if (completion.status != IBV_WC_SUCCESS) {
    start();  // when that fails, too, nothing arrives any more and connections time out
    return false;
  }
  const std::size_t number = completion.wr_id & 0xff;
  if (number >= kReceives) {
    sends_ &= ~(1U << (number - kReceives));
    return false;
  }
  const std::size_t bytes = std::min<std::size_t>(completion.byte_len, kDatagramBytes);
  const bool is_notice =
      bytes >= kRouteHeader &&
      decode_notice({slot(number) + kRouteHeader, bytes - kRouteHeader}, token_, notice);
  post_receive(number);
  return is_notice;
}

bool decode_notice(std::span<const std::byte> datagram, std::uint64_t token,
                   Notice& notice) noexcept {
  if (datagram.size() != sizeof notice) return false;
  std::memcpy(&notice, datagram.data(), sizeof notice);
  if ((notice.flags & Notice::kWhere) == 0) notice.reason.back() = '\0';
  return notice.magic == Notice::kMagic && notice.token == token;
}

}  // namespace weft::verbs
