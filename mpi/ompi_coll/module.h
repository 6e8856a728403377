// Module: what Open MPI keeps of the component for each communicator. It has the functions that
// served the communicator before, to which it passes what weft does not serve.
#pragma once

#include <ompi/mca/coll/coll.h>

#include "mpi/ompi_coll/core.h"

struct weft_module {
  mca_coll_base_module_t super;
  void* attached;   // the core's; null until the first call
  bool is_enabled;  // keeps the modules of `previous`
  struct weft_previous {
#define WEFT_FUNCTION(name)                                   \
  __typeof__(((mca_coll_base_module_t*)0)->coll_##name) name; \
  mca_coll_base_module_t* name##_module;
#include "mpi/ompi_coll/functions.inc"
#undef WEFT_FUNCTION
  } previous;
};
typedef struct weft_module weft_module;
OBJ_CLASS_DECLARATION(weft_module);
