// Core: what the C side of the component, which knows Open MPI's own headers, asks of weft. Plain
// C.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/host/host_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A setting of weft's, as a parameter of the component.
struct weft_setting {
  const char* variable;     // in the environment: "WEFT_NODES"
  const char* parameter;    // "nodes"
  const char* description;  // meaning and default
};
/// All of them: `*count` elements that live as long as the process. None without memory.
const struct weft_setting* weft_core_settings(size_t* count);

/// Called once, while the host starts up, before it has exchanged its values among all ranks: reads
/// the settings, and puts this rank's word that it has the component beside the host's. False: the
/// component is to do nothing, because it is disabled, or because the add-on to preload is there,
/// too.
bool weft_core_open(void);

/// At the end of the host's MPI_Init, by all ranks. `exchanged`: the host's exchange has made all
/// values visible. `facts` live as long as the process.
void weft_core_start(bool exchanged, const struct weft_host_facts* facts);
/// At the beginning of MPI_Finalize, by all ranks.
void weft_core_finish(void);
/// Whether collectives may be weft's: before weft_core_start() has decided, and from then on where
/// it has started.
bool weft_core_may_serve(void);

/// The host has served the last call that weft has not; `attached` may be null.
void weft_core_served(void* attached);
/// Frees what a module has got from the calls below; `attached` may be null.
void weft_core_free(void* attached);

// A collective each: weft_core_alltoall(arguments of MPI_Alltoall, ...). True: weft has served it,
// with the error code `*code`, for which the host calls the error handler. False: nothing was done,
// and the host must serve it. `*attached`, at first null, belongs to the communicator's module.
//
// Its other forms give a request: weft_core_ialltoall(..) begins one and
// weft_core_alltoall_init(..) makes one that is persistent. Where the host must serve the call they
// call it themselves: by `start` and `init`, with their `module`. They return MPI's error code.
#define WEFT_UNPACK(...) __VA_ARGS__
#define WEFT_START(name, parameters)                                                \
  typedef int weft_start_##name(WEFT_UNPACK parameters, MPI_Request*, void*);       \
  int weft_core_i##name(WEFT_UNPACK parameters, MPI_Request* request, void* module, \
                        weft_start_##name* start, void** attached);
#define WEFT_COLLECTIVE(Name, name, parameters, arguments, call)                              \
  bool weft_core_##name(WEFT_UNPACK parameters, void** attached, int* code);                  \
  WEFT_START(name, parameters)                                                                \
  typedef int weft_init_##name(WEFT_UNPACK parameters, MPI_Info, MPI_Request*, void*);        \
  int weft_core_##name##_init(WEFT_UNPACK parameters, MPI_Info info, MPI_Request* request,    \
                              void* module, weft_init_##name* init, weft_start_##name* start, \
                              void** attached);
#define WEFT_COUNT int
#define WEFT_DISPLACEMENT int
WEFT_COLLECTIVE(Barrier, barrier, (MPI_Comm comm), (comm), )
#include "mpi/calls/collectives.inc"
#include "mpi/calls/neighbours.inc"
#undef WEFT_COLLECTIVE

#ifdef __cplusplus
}
#endif
