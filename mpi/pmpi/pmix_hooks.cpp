// Functions of PMIx that Open MPI calls in MPI_Init. The dynamic linker finds these before the
// library's: the add-on learns so, with no connection of its own to the launcher, when its value
// can go along with the host's (mpi/world/key_values.hpp).
#include "mpi/world/pmix.hpp"

#ifdef WEFT_HAS_PMIX

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))

namespace pmix = weft::mpi::pmix;

namespace {

template <class Function>
Function* next(const char* name, const void* caller) {
  return reinterpret_cast<Function*>(pmix::symbol(name, caller));
}

/// The host's callback of an exchange, and its argument.
struct Waiting {
  pmix_op_cbfunc_t call;
  void* argument;
};

void fence_ended(pmix_status_t status, void* argument) {
  const Waiting waiting = *static_cast<Waiting*>(argument);
  delete static_cast<Waiting*>(argument);
  pmix::end_fence(status);
  if (waiting.call != nullptr) waiting.call(status, waiting.argument);
}

}  // namespace

WEFT_ENTRY pmix_status_t PMIx_Commit() {
  auto* host = next<decltype(PMIx_Commit)>("PMIx_Commit", __builtin_return_address(0));
  if (host == nullptr) return PMIX_ERR_INIT;
  pmix::put_if_called();
  return host();
}

WEFT_ENTRY pmix_status_t PMIx_Fence(const pmix_proc_t processes[], std::size_t count,
                                    const pmix_info_t info[], std::size_t infos) {
  auto* host = next<decltype(PMIx_Fence)>("PMIx_Fence", __builtin_return_address(0));
  if (host == nullptr) return PMIX_ERR_INIT;
  const bool collects = pmix::begin_fence(info, infos);
  const pmix_status_t status = host(processes, count, info, infos);
  if (collects) pmix::end_fence(status);
  return status;
}

WEFT_ENTRY pmix_status_t PMIx_Fence_nb(const pmix_proc_t processes[], std::size_t count,
                                       const pmix_info_t info[], std::size_t infos,
                                       pmix_op_cbfunc_t call, void* argument) {
  auto* host = next<decltype(PMIx_Fence_nb)>("PMIx_Fence_nb", __builtin_return_address(0));
  if (host == nullptr) return PMIX_ERR_INIT;
  if (!pmix::begin_fence(info, infos)) return host(processes, count, info, infos, call, argument);
  auto* waiting = new Waiting{call, argument};
  const pmix_status_t status = host(processes, count, info, infos, fence_ended, waiting);
  if (status != PMIX_SUCCESS) {  // the callback is not called
    delete waiting;
    // Done at once, in its own way.
    pmix::end_fence(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
  }
  return status;
}

#endif
