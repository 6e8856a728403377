// Core: what the C side of the component, which knows Open MPI's own headers, asks of weft. Plain
// C.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/// values visible. The functions are those of weft::mpi::HostFacts.
void weft_core_start(bool exchanged, uint64_t (*number_of)(MPI_Comm comm),
                     bool (*has_envelope)(MPI_Datatype type));
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
#define WEFT_UNPACK(...) __VA_ARGS__
#define WEFT_COLLECTIVE(Name, name, parameters, arguments, call) \
  bool weft_core_##name(WEFT_UNPACK parameters, void** attached, int* code);
#define WEFT_COUNT int
#define WEFT_DISPLACEMENT int
#include "mpi/calls/collectives.inc"
#undef WEFT_COLLECTIVE
bool weft_core_barrier(MPI_Comm comm, void** attached, int* code);

#ifdef __cplusplus
}
#endif
