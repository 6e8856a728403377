#include <ompi_config.h>

#include "mpi/ompi_coll/module.h"

#include <ompi/communicator/communicator.h>
#include <ompi/constants.h>
#include <string.h>

// A collective is weft's, or else that of the function that served it before: `previous_..`, which
// weft calls itself where the call gives a request.
#define WEFT_PREVIOUS(name, parameters, arguments)                                   \
  static int previous_##name(WEFT_UNPACK parameters, void* module) {                 \
    struct weft_module* self = (struct weft_module*)module;                          \
    return self->previous.name(WEFT_UNPACK arguments, self->previous.name##_module); \
  }
#define WEFT_NONBLOCKING(name, parameters, arguments)                                \
  WEFT_PREVIOUS(i##name, (WEFT_UNPACK parameters, MPI_Request * request),            \
                (WEFT_UNPACK arguments, request))                                    \
  static int serve_i##name(WEFT_UNPACK parameters, MPI_Request* request,             \
                           mca_coll_base_module_t* module) {                         \
    struct weft_module* self = (struct weft_module*)module;                          \
    return weft_core_i##name(WEFT_UNPACK arguments, request, self, previous_i##name, \
                             &self->attached);                                       \
  }
#define WEFT_COLLECTIVE(Name, name, parameters, arguments, call)                               \
  static int serve_##name(WEFT_UNPACK parameters, mca_coll_base_module_t* module) {            \
    struct weft_module* self = (struct weft_module*)module;                                    \
    int code = MPI_SUCCESS;                                                                    \
    if (weft_core_##name(WEFT_UNPACK arguments, &self->attached, &code)) return code;          \
    code = self->previous.name(WEFT_UNPACK arguments, self->previous.name##_module);           \
    weft_core_served(self->attached);                                                          \
    return code;                                                                               \
  }                                                                                            \
  WEFT_NONBLOCKING(name, parameters, arguments)                                                \
  WEFT_PREVIOUS(name##_init, (WEFT_UNPACK parameters, MPI_Info info, MPI_Request * request),   \
                (WEFT_UNPACK arguments, info, request))                                        \
  static int serve_##name##_init(WEFT_UNPACK parameters, MPI_Info info, MPI_Request* request,  \
                                 mca_coll_base_module_t* module) {                             \
    struct weft_module* self = (struct weft_module*)module;                                    \
    return weft_core_##name##_init(WEFT_UNPACK arguments, info, request, self,                 \
                                   previous_##name##_init, previous_i##name, &self->attached); \
  }
WEFT_COLLECTIVE(Barrier, barrier, (MPI_Comm comm), (comm), )
#include "mpi/calls/collectives.inc"
#include "mpi/calls/neighbours.inc"
#undef WEFT_COLLECTIVE

/// Called when all modules of less priority have been enabled: theirs are the functions now. A
/// collective that none of them serves is not weft's either.
// NOLINTNEXTLINE(readability-function-size): the same for each function
static int enable(mca_coll_base_module_t* module, struct ompi_communicator_t* comm) {
  struct weft_module* self = (struct weft_module*)module;
#define WEFT_FUNCTION(name)                                                  \
  self->previous.name = comm->c_coll->coll_##name;                           \
  self->previous.name##_module = comm->c_coll->coll_##name##_module;         \
  if (self->previous.name != NULL && self->previous.name##_module != NULL) { \
    OBJ_RETAIN(self->previous.name##_module);                                \
  } else {                                                                   \
    self->previous.name##_module = NULL;                                     \
    self->super.coll_##name = NULL;                                          \
  }
#include "mpi/ompi_coll/functions.inc"
#undef WEFT_FUNCTION
  self->is_enabled = true;
  return OMPI_SUCCESS;
}

/// Called before the communicator goes: modules that keep one another would stay for ever. Open MPI
/// calls it once for each function that is of this module.
// NOLINTNEXTLINE(readability-function-size): the same for each function
static int disable(mca_coll_base_module_t* module, struct ompi_communicator_t* comm) {
  struct weft_module* self = (struct weft_module*)module;
  (void)comm;
  if (!self->is_enabled) return OMPI_SUCCESS;
  self->is_enabled = false;
#define WEFT_FUNCTION(name)                    \
  if (self->previous.name##_module != NULL) {  \
    OBJ_RELEASE(self->previous.name##_module); \
    self->previous.name##_module = NULL;       \
  }
#include "mpi/ompi_coll/functions.inc"
#undef WEFT_FUNCTION
  return OMPI_SUCCESS;
}

static void construct(struct weft_module* self) {
  self->attached = NULL;
  self->is_enabled = false;
  memset(&self->previous, 0, sizeof self->previous);
  self->super.coll_module_enable = enable;
  self->super.coll_module_disable = disable;
#define WEFT_FUNCTION(name) self->super.coll_##name = serve_##name;
#include "mpi/ompi_coll/functions.inc"
#undef WEFT_FUNCTION
}

static void destruct(struct weft_module* self) {
  disable(&self->super, NULL);
  weft_core_free(self->attached);
}

OBJ_CLASS_INSTANCE(weft_module, mca_coll_base_module_t, construct, destruct);
