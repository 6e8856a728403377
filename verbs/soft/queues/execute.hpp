// Execution of one work request, at once.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <span>

#include "verbs/soft/process/transfer.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

enum class Verdict {
  done,                // with `status`
  receiver_not_ready,  // no receive is posted at the target
  no_answer,           // the target QP is not there, not in a state to answer, or a port is down
  busy,                // a fault makes the target answer slowly
};

struct Outcome {
  Verdict verdict = Verdict::done;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t byte_len = 0;
};

inline unsigned flag_if(bool set, unsigned flag) {
  return set ? flag : 0U;
}

/// Carries out `request` if that is possible now. Every work request of the device passes here.
/// The caller holds the QP's send lock; completions of the requester are the caller's business.
Outcome execute(Qp& qp, const ibv_send_wr& request) noexcept;
/// The same for a request that meets a fault; the fault happens once.
Outcome execute_faulty(Qp& qp, QueuedSend& send) noexcept;

/// Completes the receive taken for the message in flight, at the target `peer`.
struct Arrival {
  ibv_wc_opcode opcode = IBV_WC_RECV;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t byte_len = 0;
  std::uint32_t imm_data = 0;
  std::uint32_t wc_flags = 0;
  std::uint16_t slid = 0;
  std::uint8_t sl = 0;
  bool solicited = false;
};

// Shared between the transports.
ibv_wc_status gather_local(Qp& qp, const ibv_send_wr& request, unsigned access,
                           LocalPieces& local) noexcept;
void complete_receive(Peer& peer, QpBlock& target, const Receive& receive, std::uint32_t src_qp,
                      const Arrival& arrival) noexcept;
Outcome execute_datagram(Qp& qp, const ibv_send_wr& request) noexcept;

/// The pieces of a receive's scatter list that a message fills.
struct ScatterPieces {
  std::array<RemotePiece, kMaxSge> piece;
  std::size_t count = 0;
  std::span<const RemotePiece> pieces() const noexcept { return {piece.data(), count}; }
};

/// Finds the pieces of `receive` that a message of `bytes` fills, from `skip` bytes on. The status
/// is the receiver's: success, a length error, or a protection error of its scatter list.
ibv_wc_status find_scatter_pieces(Peer& peer, const QpBlock& target, const Receive& receive,
                                  std::size_t bytes, std::size_t skip,
                                  ScatterPieces& scatter) noexcept;

}  // namespace weft::soft
