// Module: what Open MPI keeps of the component for each communicator. It has the functions that
// served the communicator before, to which it passes what weft does not serve.
#pragma once

#include <ompi/mca/coll/coll.h>

#include "mpi/ompi_coll/core.h"

struct weft_module {
  mca_coll_base_module_t super;
  void* attached;  // the core's; null until the first call
  struct weft_previous {
#define WEFT_COLLECTIVE(Name, name, parameters, arguments, call) \
  mca_coll_base_module_##name##_fn_t name;                       \
  mca_coll_base_module_t* name##_module;
    WEFT_COLLECTIVE(Barrier, barrier, , , )
#include "mpi/calls/collectives.inc"
#undef WEFT_COLLECTIVE
  } previous;
};
typedef struct weft_module weft_module;
OBJ_CLASS_DECLARATION(weft_module);
