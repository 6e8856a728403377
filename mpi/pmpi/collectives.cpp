// Entry points of collectives: blocking, nonblocking and persistent.
#include <mpi.h>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/described.hpp"
#include "mpi/calls/neighbours.hpp"
#include "mpi/calls/passed.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/calls/repeats.hpp"
#include "mpi/calls/vector_repeats.hpp"
#include "mpi/pmpi/define.hpp"
#include "mpi/pmpi/waits.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/refusals.hpp"
#include "mpi/requests/requests.hpp"

using weft::mpi::Arguments;
using weft::mpi::Blocks;
using weft::mpi::BufferPair;
using weft::mpi::describe_call;
using weft::mpi::EdgeBlocks;
using weft::mpi::host_function;
using weft::mpi::Repeats;
using weft::mpi::TypedBlocks;
using weft::plan::Collective;

// Open MPI 4 has persistent collectives, under the names of extensions; MPI 4 has them under its
// own.
#if MPI_VERSION >= 4
#define WEFT_INIT(name) PMPI_##name##_init
#define WEFT_INIT_ALIAS(name) MPI_##name##_init
#define WEFT_INIT_NAME(name) "PMPI_" #name "_init"
#else
#define WEFT_INIT(name) PMPIX_##name##_init
#define WEFT_INIT_ALIAS(name) MPIX_##name##_init
#define WEFT_INIT_NAME(name) "PMPIX_" #name "_init"
#endif

// The Call of a collective's arguments.
#define WEFT_MAKE(name, parameters, call) \
  static auto make_##name parameters {    \
    return call;                          \
  }

// A call in the long way, and the function itself, which is short for the sake of repeats. The host
// runs it by its blocking function, also while calls are pending: its nonblocking one would not
// match the blocking one of a rank where nothing is pending.
#define WEFT_BLOCKING(name, parameters, arguments)                                             \
  static constinit std::atomic<decltype(&PMPI_##name)> host_of_##name = nullptr;               \
  [[gnu::noinline]] static int call_##name parameters {                                        \
    static const auto host = host_function<decltype(PMPI_##name)>("PMPI_" #name);              \
    host_of_##name.store(host, std::memory_order_relaxed);                                     \
    if (weft::mpi::is_any_pending()) {                                                         \
      if (weft::mpi::is_refused_before_others(make_##name arguments)) return host arguments;   \
      weft::mpi::drain_pending(comm);                                                          \
    }                                                                                          \
    auto weft_call = make_##name arguments;                                                    \
    weft::mpi::Recorded recorded(weft_call, [&](Arguments& described) {                        \
      BufferPair buffers;                                                                      \
      return describe_call<#name>(described, buffers, WEFT_UNWRAP arguments);                  \
    });                                                                                        \
    const auto done = weft::mpi::try_run(weft_call);                                           \
    Arguments described;                                                                       \
    BufferPair buffers;                                                                        \
    const bool is_described = describe_call<#name>(described, buffers, WEFT_UNWRAP arguments); \
    if (done) {                                                                                \
      recorded.set_served();                                                                   \
      if (is_described) Repeats::keep(described, buffers, weft_call);                          \
      weft::mpi::keep_vector<#name>(weft_call, WEFT_UNWRAP arguments);                         \
      return *done;                                                                            \
    }                                                                                          \
    if (is_described) Repeats::keep_left(described, buffers, weft_call);                       \
    if (weft::mpi::waits_by_tests()) weft::mpi::drain_for_a_while();                           \
    const weft::mpi::InHost timed(weft_call);                                                  \
    return host arguments;                                                                     \
  }                                                                                            \
  WEFT_ENTRY int PMPI_##name parameters {                                                      \
    Arguments described;                                                                       \
    BufferPair buffers;                                                                        \
    if (!weft::mpi::is_any_pending()) {                                                        \
      if (describe_call<#name>(described, buffers, WEFT_UNWRAP arguments)) {                   \
        if (const auto* known = Repeats::find(described, buffers)) {                           \
          const int code = Repeats::run(*known, buffers.input, buffers.output);                \
          if (code != Repeats::kForgotten) return code;                                        \
        }                                                                                      \
        if (const auto* known = Repeats::leave(described, buffers)) {                          \
          const weft::mpi::InHost timed(known->is_timed ? known->left : nullptr);              \
          return host_of_##name.load(std::memory_order_relaxed)(WEFT_UNWRAP arguments);        \
        }                                                                                      \
      } else if (const auto done = weft::mpi::repeat_vector<#name>(WEFT_UNWRAP arguments)) {   \
        return *done;                                                                          \
      }                                                                                        \
    }                                                                                          \
    return call_##name arguments;                                                              \
  }                                                                                            \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);

#define WEFT_NONBLOCKING(name, lower, parameters, arguments)                                      \
  WEFT_DEFINE(I##lower, (WEFT_UNWRAP parameters, MPI_Request * request), {                        \
    return weft::mpi::start_collective<#name>(request, host, make_##name, WEFT_UNWRAP arguments); \
  })

#define WEFT_PERSISTENT(name, of_persistent, lower, parameters, arguments)                  \
  WEFT_ENTRY int WEFT_INIT(of_persistent)(WEFT_UNWRAP parameters, MPI_Info info,            \
                                          MPI_Request * request) {                          \
    using Init = int(WEFT_UNWRAP parameters, MPI_Info, MPI_Request*);                       \
    static const auto host = host_function<Init>(WEFT_INIT_NAME(of_persistent));            \
    static const auto start = host_function<decltype(PMPI_I##lower)>("PMPI_I" #lower);      \
    return weft::mpi::init_collective<#name>(comm, info, request, host, start, make_##name, \
                                             WEFT_UNWRAP arguments);                        \
  }                                                                                         \
  WEFT_ENTRY int WEFT_INIT_ALIAS(of_persistent)(WEFT_UNWRAP parameters, MPI_Info info,      \
                                                MPI_Request * request)                      \
      WEFT_ALIAS(WEFT_INIT_NAME(of_persistent));

#define WEFT_ALL_FORMS(name, lower, parameters, arguments, call) \
  WEFT_MAKE(name, parameters, call)                              \
  WEFT_BLOCKING(name, parameters, arguments)                     \
  WEFT_NONBLOCKING(name, lower, parameters, arguments)           \
  WEFT_PERSISTENT(name, name, lower, parameters, arguments)

WEFT_ALL_FORMS(Barrier, barrier, (MPI_Comm comm), (comm), weft::mpi::Barrier(comm))

#define WEFT_COLLECTIVE WEFT_ALL_FORMS
#define WEFT_COUNT int
#define WEFT_DISPLACEMENT int
#include "mpi/calls/collectives.inc"
#include "mpi/calls/neighbours.inc"
#undef WEFT_COLLECTIVE
#undef WEFT_COUNT
#undef WEFT_DISPLACEMENT

#if MPI_VERSION >= 4
#undef WEFT_INIT
#undef WEFT_INIT_ALIAS
#undef WEFT_INIT_NAME
#define WEFT_INIT(name) PMPI_##name##_init_c
#define WEFT_INIT_ALIAS(name) MPI_##name##_init_c
#define WEFT_INIT_NAME(name) "PMPI_" #name "_init_c"
#define WEFT_COLLECTIVE(name, lower, parameters, arguments, call) \
  WEFT_MAKE(name##_c, parameters, call)                           \
  WEFT_BLOCKING(name##_c, parameters, arguments)                  \
  WEFT_NONBLOCKING(name##_c, lower##_c, parameters, arguments)    \
  WEFT_PERSISTENT(name##_c, name, lower##_c, parameters, arguments)
#define WEFT_COUNT MPI_Count
#define WEFT_DISPLACEMENT MPI_Aint
#include "mpi/calls/collectives.inc"
#include "mpi/calls/neighbours.inc"
#endif
