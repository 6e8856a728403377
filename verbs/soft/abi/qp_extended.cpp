// The extended posting interface, ibv_wr_*: requests are collected and posted together.
#include <cerrno>

#include "verbs/soft/abi/extended.hpp"
#include "verbs/soft/objects/objects.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/send.hpp"

namespace weft::soft {

namespace {

constexpr std::uint64_t kKnownSendOps =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

QueuedSend& last(ibv_qp_ex* qp) noexcept {
  return of(qp).built.requests.back();
}

/// Runs a step that may allocate; an error is kept for wr_complete.
template <class Step>
void build(ibv_qp_ex* qp, Step&& step) noexcept {
  Built& built = of(qp).built;
  if (built.error != 0) return;
  try {
    step(built);
  } catch (const std::bad_alloc&) {
    built.error = ENOMEM;
  }
}

ibv_send_wr* begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) noexcept {
  build(qp, [&](Built& built) {
    built.requests.emplace_back();
    ibv_send_wr& request = built.requests.back().request;
    request = {};
    request.wr_id = qp->wr_id;
    request.send_flags = qp->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
    request.opcode = opcode;
  });
  return of(qp).built.error == 0 ? &last(qp).request : nullptr;
}

void begin_rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
                __be32 immediate = 0) noexcept {
  ibv_send_wr* request = begin(qp, opcode);
  if (request == nullptr) return;
  request->wr.rdma.rkey = rkey;
  request->wr.rdma.remote_addr = address;
  request->imm_data = immediate;
}

void begin_atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
                  std::uint64_t compare_add, std::uint64_t swap) noexcept {
  ibv_send_wr* request = begin(qp, opcode);
  if (request == nullptr) return;
  request->wr.atomic.rkey = rkey;
  request->wr.atomic.remote_addr = address;
  request->wr.atomic.compare_add = compare_add;
  request->wr.atomic.swap = swap;
}

void set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) noexcept {
  build(qp, [&](Built&) { last(qp).sge.assign(list, list + count); });
}

void set_inline_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) noexcept {
  build(qp, [&](Built&) {
    QueuedSend& send = last(qp);
    for (std::size_t i = 0; i < count; ++i) {
      const auto* data = static_cast<const std::byte*>(list[i].addr);
      send.inline_data.insert(send.inline_data.end(), data, data + list[i].length);
    }
    send.request.send_flags |= IBV_SEND_INLINE;
  });
}

void start(ibv_qp_ex* qp) noexcept {
  of(qp).build_mutex.lock();
  of(qp).built.requests.clear();
  of(qp).built.error = 0;
}

void abort(ibv_qp_ex* qp) noexcept {
  of(qp).built.requests.clear();
  of(qp).build_mutex.unlock();
}

/// All or nothing up to the first error, as adapters do: what was posted before it stays posted.
int complete(ibv_qp_ex* public_qp) noexcept {
  Qp& qp = of(public_qp);
  int error = qp.built.error;
  {
    std::lock_guard lock(qp.send_mutex);
    if (qp.block->attention.load(std::memory_order_relaxed) != 0) handle_attention(qp);
    for (QueuedSend& send : qp.built.requests) {
      if (error != 0) break;
      if (!send.inline_data.empty()) {
        send.sge.assign(1, {reinterpret_cast<std::uint64_t>(send.inline_data.data()),
                            static_cast<std::uint32_t>(send.inline_data.size()), 0});
      }
      send.request.sg_list = send.sge.data();
      send.request.num_sge = static_cast<int>(send.sge.size());
      error = post_one(qp, send.request);
    }
  }
  abort(public_qp);
  return error;
}

void install_builders(Qp& qp) noexcept {
  qp.wr_start = start;
  qp.wr_complete = complete;
  qp.wr_abort = abort;
  qp.wr_send = [](ibv_qp_ex* q) { begin(q, IBV_WR_SEND); };
  qp.wr_send_imm = [](ibv_qp_ex* q, __be32 immediate) {
    begin_rdma(q, IBV_WR_SEND_WITH_IMM, 0, 0, immediate);
  };
  qp.wr_rdma_write = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t address) {
    begin_rdma(q, IBV_WR_RDMA_WRITE, rkey, address);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t address,
                            __be32 immediate) {
    begin_rdma(q, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address, immediate);
  };
  qp.wr_rdma_read = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t address) {
    begin_rdma(q, IBV_WR_RDMA_READ, rkey, address);
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t address,
                            std::uint64_t compare, std::uint64_t swap) {
    begin_atomic(q, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* q, std::uint32_t rkey, std::uint64_t address,
                              std::uint64_t add) {
    begin_atomic(q, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, add, 0);
  };
  qp.wr_set_ud_addr = [](ibv_qp_ex* q, ibv_ah* ah, std::uint32_t number, std::uint32_t qkey) {
    build(q, [&](Built&) { last(q).request.wr.ud = {ah, number, qkey}; });
  };
  qp.wr_set_sge = [](ibv_qp_ex* q, std::uint32_t lkey, std::uint64_t address,
                     std::uint32_t length) {
    const ibv_sge sge = {address, length, lkey};
    set_sge_list(q, 1, &sge);
  };
  qp.wr_set_sge_list = set_sge_list;
  qp.wr_set_inline_data = [](ibv_qp_ex* q, void* address, std::size_t length) {
    const ibv_data_buf buffer = {address, length};
    set_inline_list(q, 1, &buffer);
  };
  qp.wr_set_inline_data_list = set_inline_list;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attributes) noexcept {
  return make_object([&] {
    constexpr std::uint32_t kKnown =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const bool extended = (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if ((attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) throw VerbError(EINVAL);
    if ((attributes->comp_mask & ~kKnown) != 0 ||
        ((attributes->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 &&
         attributes->create_flags != 0) ||
        (extended && (attributes->send_ops_flags & ~kKnownSendOps) != 0)) {
      throw VerbError(EOPNOTSUPP);
    }
    // The extended attributes begin with the plain ones.
    const auto& plain = *reinterpret_cast<const ibv_qp_init_attr*>(attributes);
    ibv_qp* qp = create_qp(attributes->pd, plain, extended);
    if (extended) install_builders(of(qp));
    return qp;
  });
}

}  // namespace weft::soft
