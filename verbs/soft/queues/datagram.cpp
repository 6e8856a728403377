// Unreliable datagrams.
#include <endian.h>

#include "verbs/soft/process/ports.hpp"
#include "verbs/soft/queues/completion.hpp"
#include "verbs/soft/queues/execute.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/segment/control_segment.hpp"

namespace weft::soft {

namespace {

Outcome sent() {
  return {Verdict::done, IBV_WC_SUCCESS, 0};
}

ibv_grh route_header(const Qp& qp, const ibv_ah_attr& address, std::size_t bytes) noexcept {
  ibv_grh header{};
  const auto& route = address.grh;
  header.version_tclass_flow =
      ::htobe32(6U << 28 | std::uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xfffff));
  // Payload of the packet: base and datagram headers, data, checksum.
  header.paylen = ::htobe16(static_cast<std::uint16_t>(12 + 8 + bytes + 4));
  header.next_hdr = 0x1b;
  header.hop_limit = route.hop_limit;
  header.sgid = gid_of(of(qp.qp_base.context).device, route.sgid_index);
  header.dgid = route.dgid;
  return header;
}

/// True when the target QP accepts a datagram from this address with this key.
bool accepts(const Qp& qp, const QpBlock& target, const ibv_send_wr& request) noexcept {
  const std::uint32_t state = target.state.load(std::memory_order_relaxed);
  const bool receiving =
      state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
  const std::uint32_t asked = request.wr.ud.remote_qkey;
  const std::uint32_t qkey = (asked & 0x8000'0000) != 0 ? qp.attributes.qkey : asked;
  return receiving && target.type == IBV_QPT_UD && target.number == request.wr.ud.remote_qpn &&
         target.qkey == qkey && device_at(of(request.wr.ud.ah).attributes) == target.device;
}

/// Puts back a receive that is too small for the message. Only for a QP's own queue.
void return_receive(QpBlock& target, const Receive& receive) noexcept {
  target.receives.head.store(receive.sequence, std::memory_order_release);
  settle_receive(target);
}

void deliver(Peer& peer, QpBlock& target, const Qp& qp, const ibv_send_wr& request,
             const LocalPieces& local) noexcept {
  Receive receive;
  if (!take_receive(peer.segment(), target, receive)) return;
  const ibv_ah_attr& address = of(request.wr.ud.ah).attributes;
  const bool immediate = request.opcode == IBV_WR_SEND_WITH_IMM;
  const bool routed = address.is_global != 0;
  const std::size_t bytes = local.bytes + kGrhBytes;
  const std::uint16_t lid = kFirstLid + static_cast<std::uint16_t>(of(qp.qp_base.context).device);
  Arrival arrival = {.byte_len = static_cast<std::uint32_t>(bytes),
                     .imm_data = immediate ? request.imm_data : 0,
                     .wc_flags = flag_if(immediate, IBV_WC_WITH_IMM) | flag_if(routed, IBV_WC_GRH),
                     .slid = lid,
                     .sl = address.sl,
                     .solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0};
  ibv_grh header = routed ? route_header(qp, address, local.bytes) : ibv_grh{};
  LocalPieces packet;
  packet.add(reinterpret_cast<std::uint64_t>(&header), sizeof(header));
  for (std::size_t i = 0; i < local.count; ++i) {
    packet.add(reinterpret_cast<std::uint64_t>(local.piece[i].iov_base), local.piece[i].iov_len);
  }
  ScatterPieces scatter;
  arrival.status = find_scatter_pieces(peer, target, receive, bytes, 0, scatter);
  if (arrival.status == IBV_WC_LOC_LEN_ERR && target.srq == kNone) {
    return return_receive(target, receive);  // too long for the buffer: dropped, as by adapters
  }
  if (arrival.status == IBV_WC_SUCCESS &&
      put(peer, packet, scatter.pieces(), Placement::any) != 0) {
    arrival.status = IBV_WC_LOC_PROT_ERR;
  }
  complete_receive(peer, target, receive, qp.qp_base.qp_num, arrival);
}

}  // namespace

Outcome execute_datagram(Qp& qp, const ibv_send_wr& request) noexcept {
  LocalPieces local;
  const ibv_wc_status status = gather_local(qp, request, 0, local);
  if (status != IBV_WC_SUCCESS) return {Verdict::done, status, 0};
  if (local.bytes > kUdMtuBytes) return {Verdict::done, IBV_WC_LOC_LEN_ERR, 0};

  // From here on no failure is reported to the sender.
  const auto peer = of(qp.qp_base.context).process->peer(slot_of(request.wr.ud.remote_qpn));
  if (!peer || peer->dead()) return sent();
  const Context& context = of(qp.qp_base.context);
  QpBlock& target = peer->segment().qp(index_of(request.wr.ud.remote_qpn));
  if (std::atomic_ref(target.number).load(std::memory_order_acquire) == 0) return sent();
  if (!port_is_up(context.process->segment(), context.device) ||
      !port_is_up(peer->segment(), target.device)) {
    return sent();
  }
  RobustGuard lock(target.responder);
  if (lock.holder_died()) repair_receive(*peer, target);
  if (accepts(qp, target, request)) deliver(*peer, target, qp, request, local);
  return sent();
}

}  // namespace weft::soft
