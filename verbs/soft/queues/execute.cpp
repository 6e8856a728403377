// Reliable connections. The requester does the work of both ends: it checks what the responder's
// hardware would check, moves the bytes, and completes the receive.
#include "verbs/soft/queues/execute.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "verbs/soft/queues/completion.hpp"
#include "verbs/soft/segment/control_segment.hpp"

namespace weft::soft {

namespace {

struct Target {
  Peer& peer;
  QpBlock& qp;
};

Outcome done(ibv_wc_status status, std::size_t bytes = 0) {
  return {Verdict::done, status, static_cast<std::uint32_t>(bytes)};
}

/// An error that the responder detects: its QP fails too, and its owner gets an event.
Outcome refuse(const Target& target, std::uint32_t event, ibv_wc_status status) noexcept {
  target.qp.state.store(IBV_QPS_ERR);
  target.qp.attention.fetch_or(kFlush | event);
  target.peer.segment().ring_doorbell();
  return done(status);
}

bool answers(const Qp& qp, const QpBlock& target) noexcept {
  const std::uint32_t state = target.state.load(std::memory_order_relaxed);
  const bool receiving = state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
  return receiving && target.number == qp.attributes.dest_qp_num && target.type == IBV_QPT_RC &&
         target.destination == qp.qp_base.qp_num && target.device == qp.destination_device;
}

/// Finds the one range of the target that an RDMA operation names; false when it may not be used.
bool find_remote(const Target& target, std::uint64_t address, std::uint32_t rkey, std::size_t bytes,
                 unsigned access, RemotePiece& piece) noexcept {
  if ((target.qp.access & access) != access) return false;
  const MrEntry* entry =
      find_region(target.peer.segment(), rkey, target.qp.pd, address, bytes, access);
  if (entry == nullptr) return false;
  piece = remote_piece(target.peer, region_index(rkey), address - entry->iova, bytes);
  return true;
}

/// Raises IBV_EVENT_COMM_EST: the other end already uses a connection that is not yet ready to
/// send.
void note_established(const Target& target) noexcept {
  if (target.qp.state.load(std::memory_order_relaxed) != IBV_QPS_RTR ||
      target.qp.established != 0) {
    return;
  }
  target.qp.established = 1;
  target.qp.attention.fetch_or(kEstablishedEvent);
  target.peer.segment().ring_doorbell();
}

Outcome move_failed(const Target& target, int error) noexcept {
  // The process or its agent is gone, or the agent is stuck. Anything else is the target's memory:
  // registered once, but unmapped since.
  constexpr std::array kGone = {ESRCH, ECONNRESET, EPIPE, ENOTCONN, ECONNREFUSED, EAGAIN};
  if (std::ranges::find(kGone, error) != kGone.end()) {
    target.peer.mark_dead();
    return {Verdict::no_answer};
  }
  return refuse(target, kAccessEvent, IBV_WC_REM_OP_ERR);
}

Outcome write(const Target& target, Qp& qp, const ibv_send_wr& request,
              const LocalPieces& local) noexcept {
  const bool immediate = request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  RemotePiece remote{};
  if (local.bytes > 0 && !find_remote(target, request.wr.rdma.remote_addr, request.wr.rdma.rkey,
                                      local.bytes, IBV_ACCESS_REMOTE_WRITE, remote)) {
    return refuse(target, kAccessEvent, IBV_WC_REM_ACCESS_ERR);
  }
  Receive receive;
  if (immediate && !take_receive(target.peer.segment(), target.qp, receive)) {
    return {Verdict::receiver_not_ready};
  }
  if (local.bytes > 0) {
    if (const int error = put(target.peer, local, {&remote, 1}, Placement::last_word_last)) {
      return move_failed(target, error);
    }
  }
  if (immediate) {
    complete_receive(target.peer, target.qp, receive, qp.qp_base.qp_num,
                     {.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                      .byte_len = static_cast<std::uint32_t>(local.bytes),
                      .imm_data = request.imm_data,
                      .wc_flags = IBV_WC_WITH_IMM,
                      .solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0});
  }
  return done(IBV_WC_SUCCESS, local.bytes);
}

Outcome read(const Target& target, const ibv_send_wr& request, const LocalPieces& local) noexcept {
  if (target.qp.max_dest_rd_atomic == 0) {
    return refuse(target, kRequestEvent, IBV_WC_REM_INV_REQ_ERR);
  }
  if (local.bytes == 0) return done(IBV_WC_SUCCESS);
  RemotePiece remote{};
  if (!find_remote(target, request.wr.rdma.remote_addr, request.wr.rdma.rkey, local.bytes,
                   IBV_ACCESS_REMOTE_READ, remote)) {
    return refuse(target, kAccessEvent, IBV_WC_REM_ACCESS_ERR);
  }
  if (const int error = get(target.peer, local, remote)) return move_failed(target, error);
  return done(IBV_WC_SUCCESS, local.bytes);
}

Outcome atomic(const Target& target, const ibv_send_wr& request,
               const LocalPieces& local) noexcept {
  const auto& arguments = request.wr.atomic;
  if (local.bytes != sizeof(std::uint64_t)) return done(IBV_WC_LOC_LEN_ERR);
  if (target.qp.max_dest_rd_atomic == 0 || arguments.remote_addr % 8 != 0) {
    return refuse(target, kRequestEvent, IBV_WC_REM_INV_REQ_ERR);
  }
  RemotePiece remote{};
  if (!find_remote(target, arguments.remote_addr, arguments.rkey, 8, IBV_ACCESS_REMOTE_ATOMIC,
                   remote)) {
    return refuse(target, kAccessEvent, IBV_WC_REM_ACCESS_ERR);
  }
  // A region may begin off alignment even where its I/O address does not.
  if (remote.address % 8 != 0) return refuse(target, kRequestEvent, IBV_WC_REM_INV_REQ_ERR);
  const AtomicOp op =
      request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? AtomicOp::fetch_add : AtomicOp::compare_swap;
  std::uint64_t seen = 0;
  if (const int error =
          apply_atomic(target.peer, remote, op, arguments.compare_add, arguments.swap, seen)) {
    return move_failed(target, error);
  }
  const RemotePiece result = {
      .address = 0, .length = 8, .direct = reinterpret_cast<std::byte*>(&seen)};
  get(target.peer, local, result);
  return done(IBV_WC_SUCCESS, 8);
}

Outcome send(const Target& target, Qp& qp, const ibv_send_wr& request,
             const LocalPieces& local) noexcept {
  Receive receive;
  if (!take_receive(target.peer.segment(), target.qp, receive)) {
    return {Verdict::receiver_not_ready};
  }
  ScatterPieces scatter;
  const ibv_wc_status status =
      find_scatter_pieces(target.peer, target.qp, receive, local.bytes, 0, scatter);
  const bool immediate = request.opcode == IBV_WR_SEND_WITH_IMM;
  const std::uint32_t number = qp.qp_base.qp_num;
  if (status != IBV_WC_SUCCESS) {
    complete_receive(target.peer, target.qp, receive, number, {.status = status});
    return refuse(target, kRequestEvent,
                  status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
  }
  if (const int error = put(target.peer, local, scatter.pieces(), Placement::any)) {
    return move_failed(target, error);
  }
  complete_receive(target.peer, target.qp, receive, number,
                   {.byte_len = static_cast<std::uint32_t>(local.bytes),
                    .imm_data = immediate ? request.imm_data : 0,
                    .wc_flags = flag_if(immediate, IBV_WC_WITH_IMM),
                    .solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0});
  return done(IBV_WC_SUCCESS, local.bytes);
}

bool changes_local_memory(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

Outcome execute_connected(Qp& qp, const ibv_send_wr& request) noexcept {
  const bool fetches = changes_local_memory(request.opcode);
  LocalPieces local;
  const ibv_wc_status status =
      gather_local(qp, request, flag_if(fetches, IBV_ACCESS_LOCAL_WRITE), local);
  if (status != IBV_WC_SUCCESS) return done(status);
  if (fetches && qp.attributes.max_rd_atomic == 0) return done(IBV_WC_LOC_QP_OP_ERR);

  if (!qp.peer) qp.peer = of(qp.qp_base.context).process->peer(slot_of(qp.attributes.dest_qp_num));
  // As by an adapter: the request is tried again until the time of its QP has passed. A program
  // that polls a batch must not find this error among the last completions of a peer that has ended
  // well.
  if (!qp.peer || qp.peer->dead()) return {Verdict::no_answer};
  const Target target = {*qp.peer, qp.peer->segment().qp(index_of(qp.attributes.dest_qp_num))};
  // An entry never used has no lock yet; its number is written after the lock is made.
  if (std::atomic_ref(target.qp.number).load(std::memory_order_acquire) == 0) {
    return {Verdict::no_answer};
  }
  const Context& context = of(qp.qp_base.context);
  if (!port_is_up(context.process->segment(), context.device) ||
      !port_is_up(target.peer.segment(), target.qp.device)) {
    return {Verdict::no_answer};
  }
  if (!take_turn(target.peer.segment())) return {Verdict::busy};
  RobustGuard lock(target.qp.responder);
  if (lock.holder_died()) repair_receive(target.peer, target.qp);
  if (!answers(qp, target.qp)) return {Verdict::no_answer};
  note_established(target);
  switch (request.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return send(target, qp, request, local);
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return write(target, qp, request, local);
    case IBV_WR_RDMA_READ:
      return read(target, request, local);
    default:
      return atomic(target, request, local);
  }
}

}  // namespace

ibv_wc_status gather_local(Qp& qp, const ibv_send_wr& request, unsigned access,
                           LocalPieces& local) noexcept {
  const bool checked = (request.send_flags & IBV_SEND_INLINE) == 0;
  const ControlSegment& segment = of(qp.qp_base.context).process->segment();
  for (int i = 0; i < request.num_sge; ++i) {
    const ibv_sge& sge = request.sg_list[i];
    std::uint64_t address = sge.addr;
    if (checked && sge.length > 0) {
      const MrEntry* entry =
          find_region(segment, sge.lkey, qp.qp_base.pd->handle, sge.addr, sge.length, access);
      if (entry == nullptr) return IBV_WC_LOC_PROT_ERR;
      address = entry->address + (sge.addr - entry->iova);
    }
    local.add(address, sge.length);
  }
  return local.bytes > kMaxMessageBytes ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

ibv_wc_status find_scatter_pieces(Peer& peer, const QpBlock& target, const Receive& receive,
                                  std::size_t bytes, std::size_t skip,
                                  ScatterPieces& scatter) noexcept {
  const std::uint32_t pd = target.srq == kNone ? target.pd : peer.segment().srq(target.srq).pd;
  std::size_t left = bytes;
  for (std::uint32_t i = 0; i < receive.count && left > 0; ++i) {
    const Sge& sge = receive.sge[i];
    if (skip >= sge.length) {
      skip -= sge.length;
      continue;
    }
    const std::size_t length = std::min<std::size_t>(left, sge.length - skip);
    const MrEntry* entry = find_region(peer.segment(), sge.lkey, pd, sge.address + skip, length,
                                       IBV_ACCESS_LOCAL_WRITE);
    if (entry == nullptr) return IBV_WC_LOC_PROT_ERR;
    scatter.piece[scatter.count++] =
        remote_piece(peer, region_index(sge.lkey), sge.address + skip - entry->iova, length);
    skip = 0;
    left -= length;
  }
  return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

void complete_receive(Peer& peer, QpBlock& target, const Receive& receive, std::uint32_t src_qp,
                      const Arrival& arrival) noexcept {
  Cqe entry{};
  entry.wr_id = receive.wr_id;
  entry.sequence = receive.sequence;
  entry.qp = index_of(target.number);
  entry.status = arrival.status;
  entry.opcode = arrival.opcode;
  entry.byte_len = arrival.byte_len;
  entry.imm_data = arrival.imm_data;
  entry.src_qp = src_qp;
  entry.wc_flags = arrival.wc_flags;
  entry.slid = arrival.slid;
  entry.sl = arrival.sl;
  entry.receive = 1;
  push_completion(peer, target.receive_cq, entry, arrival.solicited);
  settle_receive(target);
}

Outcome execute(Qp& qp, const ibv_send_wr& request) noexcept {
  if (qp.qp_base.qp_type == IBV_QPT_UD) return execute_datagram(qp, request);
  return execute_connected(qp, request);
}

}  // namespace weft::soft
