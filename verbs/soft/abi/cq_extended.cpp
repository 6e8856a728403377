// The extended polling interface, ibv_start_poll and on: one current entry and readers of its
// fields.
#include <ctime>

#include "verbs/soft/abi/extended.hpp"
#include "verbs/soft/objects/objects.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/completion.hpp"

namespace weft::soft {

namespace {

int next(ibv_cq_ex* public_cq) noexcept {
  Cq& cq = of(public_cq);
  if (!take_completion(cq, cq.current)) return ENOENT;
  cq.wr_id = cq.current.wr_id;
  cq.status = static_cast<ibv_wc_status>(cq.current.status);
  return 0;
}

/// Holds the consumer lock from a start that returns 0 to the end.
int start(ibv_cq_ex* public_cq, ibv_poll_cq_attr* attributes) noexcept {
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  Cq& cq = of(public_cq);
  for (int attempt = 0; attempt < 2; ++attempt) {
    cq.consumer_mutex.lock();
    const int result = next(public_cq);
    if (result == 0) return 0;
    cq.consumer_mutex.unlock();
    if (attempt == 0 && !progress_completions(cq)) break;
  }
  return ENOENT;
}

void end(ibv_cq_ex* cq) noexcept {
  of(cq).consumer_mutex.unlock();
}

std::uint64_t wallclock_ns(ibv_cq_ex* cq) noexcept {
  timespec real{}, monotonic{};
  ::clock_gettime(CLOCK_REALTIME, &real);
  ::clock_gettime(CLOCK_MONOTONIC, &monotonic);
  const std::int64_t shift = (std::int64_t{real.tv_sec} - monotonic.tv_sec) * 1'000'000'000 +
                             real.tv_nsec - monotonic.tv_nsec;
  return of(cq).current.timestamp_ns + static_cast<std::uint64_t>(shift);
}

void install_extended_poll(Cq& cq) noexcept {
  cq.start_poll = start;
  cq.next_poll = next;
  cq.end_poll = end;
  cq.read_opcode = [](ibv_cq_ex* c) { return static_cast<ibv_wc_opcode>(of(c).current.opcode); };
  cq.read_vendor_err = [](ibv_cq_ex*) { return std::uint32_t{0}; };
  cq.read_byte_len = [](ibv_cq_ex* c) { return of(c).current.byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* c) { return __be32{of(c).current.imm_data}; };
  cq.read_qp_num = [](ibv_cq_ex* c) {
    return qp_number(of(c->context).process->slot(), of(c).current.qp);
  };
  cq.read_src_qp = [](ibv_cq_ex* c) { return of(c).current.src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* c) -> unsigned { return of(c).current.wc_flags; };
  cq.read_slid = [](ibv_cq_ex* c) -> std::uint32_t { return of(c).current.slid; };
  cq.read_sl = [](ibv_cq_ex* c) { return of(c).current.sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex*) { return std::uint8_t{0}; };
  cq.read_completion_ts = [](ibv_cq_ex* c) { return of(c).current.timestamp_ns; };
  cq.read_completion_wallclock_ns = wallclock_ns;
}

}  // namespace

ibv_cq_ex* create_pollable_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes) {
  ibv_cq_ex* cq = create_cq(context, attributes);
  install_extended_poll(of(cq));
  return cq;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) noexcept {
  return make_object([&] { return create_pollable_cq(context, *attributes); });
}

}  // namespace weft::soft
