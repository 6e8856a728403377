// The state machine of queue pairs: InfiniBand specification, section 10.3, in the form in which
// the kernel checks it for all adapters.
#include <array>
#include <cerrno>

#include "verbs/soft/objects/objects.hpp"
#include "verbs/soft/process/ports.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/send.hpp"

namespace weft::soft {

namespace {

struct Masks {
  int required;
  int optional;
};

struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  Masks connected;
  Masks datagram;
};

constexpr int kConnect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kStart =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kWhileRunning = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                              IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kWhileDrained = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                              IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int kInitRc = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kInitUd = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int kKeyUd = IBV_QP_CUR_STATE | IBV_QP_QKEY;

// Any state may also go to RESET and to ERR, with no attributes.
constexpr std::array kTransitions = {
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, {kInitRc, 0}, {kInitUd, 0}},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, {0, kInitRc}, {0, kInitUd}},
    Transition{IBV_QPS_INIT,
               IBV_QPS_RTR,
               {kConnect, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
               {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, {kStart, kWhileRunning}, {IBV_QP_SQ_PSN, kKeyUd}},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, {0, kWhileRunning}, {0, kKeyUd}},
    Transition{
        IBV_QPS_RTS, IBV_QPS_SQD, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, {0, kWhileRunning}, {0, kKeyUd}},
    Transition{IBV_QPS_SQD, IBV_QPS_SQD, {0, kWhileDrained}, {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    Transition{IBV_QPS_SQE, IBV_QPS_RTS, {0, IBV_QP_CUR_STATE}, {0, kKeyUd}},
};

bool values_allowed(const ibv_qp_attr& wanted, int mask) noexcept {
  const auto has = [mask](int flag) { return (mask & flag) != 0; };
  constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (has(IBV_QP_PORT) && wanted.port_num != 1) return false;
  if (has(IBV_QP_PKEY_INDEX) && wanted.pkey_index != 0) return false;
  if (has(IBV_QP_ACCESS_FLAGS) && (wanted.qp_access_flags & ~kAccess) != 0) return false;
  if (has(IBV_QP_AV) && !valid_address(wanted.ah_attr)) return false;
  if (has(IBV_QP_PATH_MTU) && (wanted.path_mtu < IBV_MTU_256 || wanted.path_mtu > IBV_MTU_4096)) {
    return false;
  }
  if (has(IBV_QP_TIMEOUT) && wanted.timeout > 31) return false;
  if (has(IBV_QP_RETRY_CNT) && wanted.retry_cnt > 7) return false;
  if (has(IBV_QP_RNR_RETRY) && wanted.rnr_retry > 7) return false;
  if (has(IBV_QP_MIN_RNR_TIMER) && wanted.min_rnr_timer > 31) return false;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC) && wanted.max_rd_atomic > kMaxRdAtomic) return false;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC) && wanted.max_dest_rd_atomic > kMaxRdAtomic) return false;
  if (has(IBV_QP_DEST_QPN) && wanted.dest_qp_num > 0xffffff) return false;
  return !has(IBV_QP_ALT_PATH) && !has(IBV_QP_PATH_MIG_STATE);  // one port: no other path
}

/// Remembers what was set, for the requester side and for queries.
void remember(Qp& qp, const ibv_qp_attr& wanted, int mask) noexcept {
  ibv_qp_attr& kept = qp.attributes;
  const auto has = [mask](int flag) { return (mask & flag) != 0; };
  if (has(IBV_QP_ACCESS_FLAGS)) kept.qp_access_flags = wanted.qp_access_flags;
  if (has(IBV_QP_PKEY_INDEX)) kept.pkey_index = wanted.pkey_index;
  if (has(IBV_QP_PORT)) kept.port_num = wanted.port_num;
  if (has(IBV_QP_QKEY)) kept.qkey = wanted.qkey;
  if (has(IBV_QP_AV)) kept.ah_attr = wanted.ah_attr;
  if (has(IBV_QP_PATH_MTU)) kept.path_mtu = wanted.path_mtu;
  if (has(IBV_QP_TIMEOUT)) kept.timeout = wanted.timeout;
  if (has(IBV_QP_RETRY_CNT)) kept.retry_cnt = wanted.retry_cnt;
  if (has(IBV_QP_RNR_RETRY)) kept.rnr_retry = wanted.rnr_retry;
  if (has(IBV_QP_RQ_PSN)) kept.rq_psn = wanted.rq_psn & 0xffffff;
  if (has(IBV_QP_SQ_PSN)) kept.sq_psn = wanted.sq_psn & 0xffffff;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) kept.max_rd_atomic = wanted.max_rd_atomic;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) kept.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
  if (has(IBV_QP_MIN_RNR_TIMER)) kept.min_rnr_timer = wanted.min_rnr_timer;
  if (has(IBV_QP_DEST_QPN)) kept.dest_qp_num = wanted.dest_qp_num;
  if (has(IBV_QP_EN_SQD_ASYNC_NOTIFY)) kept.en_sqd_async_notify = wanted.en_sqd_async_notify;
}

/// Writes the attributes that peers need into the QP's block, and the new state last.
void publish(Qp& qp, ibv_qp_state state) noexcept {
  const ibv_qp_attr& kept = qp.attributes;
  RobustGuard lock(qp.block->responder);
  if (lock.holder_died()) repair_receive(*of(qp.qp_base.context).process->self(), *qp.block);
  qp.block->destination = kept.dest_qp_num;
  qp.block->access = kept.qp_access_flags;
  qp.block->qkey = kept.qkey;
  qp.block->min_rnr_timer = kept.min_rnr_timer;
  qp.block->max_dest_rd_atomic = kept.max_dest_rd_atomic;
  qp.block->state = state;
}

void enter(Qp& qp, ibv_qp_state state) noexcept {
  Process& process = *of(qp.qp_base.context).process;
  if (state == IBV_QPS_RESET) {
    reset_qp(qp);
    qp.attributes = {};
    return;
  }
  if (state == IBV_QPS_ERR) return enter_error(qp);
  if (state == IBV_QPS_RTR && qp.qp_base.qp_type == IBV_QPT_RC) {
    qp.destination_device = device_at(qp.attributes.ah_attr).value_or(kNone);
    // Attached early, so that posting needs no system call; a peer that does not run yet is
    // attached by a later post.
    qp.peer = process.living_peer(slot_of(qp.attributes.dest_qp_num));
  }
  if (state == IBV_QPS_SQD) {
    qp.drain_until = qp.posted;
    qp.drained_reported = qp.attributes.en_sqd_async_notify == 0;
  }
  publish(qp, state);
  if (state == IBV_QPS_RTS) retry_queue(qp);
  if (state == IBV_QPS_SQD) report_drained(qp);
}

/// Checks that a QP of `type` may go from one state to another with exactly these attributes, by
/// the rules that the kernel applies to every adapter. 0 or EINVAL.
int check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
    return (mask & ~IBV_QP_STATE) == 0 ? 0 : EINVAL;
  }
  for (const Transition& allowed : kTransitions) {
    if (allowed.from != from || allowed.to != to) continue;
    const Masks& masks = type == IBV_QPT_UD ? allowed.datagram : allowed.connected;
    const bool complete = (mask & masks.required) == masks.required;
    const bool known = (mask & ~(masks.required | masks.optional | IBV_QP_STATE)) == 0;
    return complete && known ? 0 : EINVAL;
  }
  return EINVAL;
}

}  // namespace

int modify_qp(ibv_qp* public_qp, const ibv_qp_attr& wanted, int mask) noexcept {
  Qp& qp = of(public_qp);
  std::lock_guard lock(qp.send_mutex);
  if (qp.block->attention.load() != 0) handle_attention(qp);
  const auto current = static_cast<ibv_qp_state>(qp.block->state.load());
  const ibv_qp_state from = (mask & IBV_QP_CUR_STATE) != 0 ? wanted.cur_qp_state : current;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? wanted.qp_state : current;
  if (from != current) return EINVAL;
  if (const int error = check_transition(public_qp->qp_type, from, to, mask)) return error;
  if (!values_allowed(wanted, mask)) return EINVAL;
  remember(qp, wanted, mask);
  enter(qp, to);
  public_qp->state = to;
  return 0;
}

}  // namespace weft::soft
