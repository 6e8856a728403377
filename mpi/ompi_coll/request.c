#include <ompi_config.h>

#include "mpi/ompi_coll/request.h"

#include <ompi/communicator/communicator.h>
#include <ompi/request/request.h>
#include <opal/runtime/opal_progress.h>
#include <stdatomic.h>
#include <string.h>

/// A request that weft completes.
struct weft_request {
  ompi_request_t super;
  // Open MPI takes every request of a collective for an ompi_coll_base_nbc_request_t, and keeps the
  // call's datatypes and operations there: four words, in a header that needs others which are not
  // installed.
  void* of_host[8];
  struct weft_startable started;  // of a persistent one
  atomic_int ends;                // of a run: who has come to its end
};
typedef struct weft_request weft_request;
static OBJ_CLASS_INSTANCE(weft_request, ompi_request_t, NULL, NULL);

enum { kCompleted = 1, kFreed = 2 };

static void release(weft_request* self) {
  ompi_request_t* request = &self->super;
  if (self->started.work != NULL) self->started.drop(self->started.work);
  MPI_Comm comm = request->req_mpi_object.comm;
  OMPI_REQUEST_FINI(request);
  OBJ_RELEASE(self);
  OBJ_RELEASE(comm);
}

/// Called by Open MPI when the request is complete or inactive; or by a program that does not wait
/// for it.
static int free_request(ompi_request_t** request) {
  weft_request* self = (weft_request*)*request;
  const bool is_under_way = !REQUEST_COMPLETE(*request);
  *request = MPI_REQUEST_NULL;
  if (!is_under_way || (atomic_fetch_or(&self->ends, kFreed) & kCompleted) != 0) release(self);
  return OMPI_SUCCESS;
}

static void set_under_way(ompi_request_t* request) {
  request->req_status.MPI_SOURCE = MPI_UNDEFINED;
  request->req_status.MPI_TAG = MPI_UNDEFINED;
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_status._cancelled = 0;
  request->req_status._ucount = 0;
  request->req_type = OMPI_REQUEST_COLL;
  request->req_complete = REQUEST_PENDING;
  request->req_state = OMPI_REQUEST_ACTIVE;
  atomic_store(&((weft_request*)request)->ends, 0);
}

static weft_request* new_request(MPI_Comm comm, bool is_persistent) {
  weft_request* self = OBJ_NEW(weft_request);
  if (self == NULL) return NULL;
  ompi_request_t* request = &self->super;
  OMPI_REQUEST_INIT(request, is_persistent);
  request->req_type = OMPI_REQUEST_COLL;
  request->req_free = free_request;
  request->req_cancel = NULL;
  request->req_start = NULL;
  // The program may free it before the request.
  OBJ_RETAIN(comm);
  request->req_mpi_object.comm = comm;
  memset(self->of_host, 0, sizeof self->of_host);
  self->started = (struct weft_startable){NULL, NULL, NULL};
  return self;
}

MPI_Request weft_new_request(MPI_Comm comm) {
  weft_request* self = new_request(comm, false);
  if (self == NULL) return MPI_REQUEST_NULL;
  set_under_way(&self->super);
  return &self->super;
}

/// MPI_Start and MPI_Startall.
static int start_requests(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    weft_request* self = (weft_request*)requests[i];
    set_under_way(requests[i]);
    const int code = self->started.start(self->started.work, requests[i]);
    if (code == MPI_SUCCESS) continue;
    requests[i]->req_complete = REQUEST_COMPLETED;
    requests[i]->req_state = OMPI_REQUEST_INACTIVE;
    return code;
  }
  return OMPI_SUCCESS;
}

MPI_Request weft_new_persistent_request(MPI_Comm comm, struct weft_startable started) {
  weft_request* self = new_request(comm, true);
  if (self == NULL) return MPI_REQUEST_NULL;
  self->super.req_start = start_requests;
  self->started = started;
  return &self->super;
}

void weft_complete(MPI_Request request, int code) {
  weft_request* self = (weft_request*)request;
  request->req_status.MPI_ERROR = code;
  // Open MPI calls the error handler of the communicator for requests of messages only, and that of
  // MPI_COMM_WORLD for others. Nobody looks at the type for anything else any more.
  if (code != MPI_SUCCESS) request->req_type = OMPI_REQUEST_PML;
  if ((atomic_fetch_or(&self->ends, kCompleted) & kFreed) != 0) {
    release(self);
  } else {
    ompi_request_complete(request, true);
  }
}

bool weft_call_in_waits(int (*progress)(void)) {
  return opal_progress_register(progress) == OPAL_SUCCESS;
}

static void hold(opal_object_t* object, bool holds) {
  if (holds) {
    OBJ_RETAIN(object);
  } else {
    OBJ_RELEASE(object);
  }
}

void weft_hold_type(MPI_Datatype type, bool holds) {
  hold((opal_object_t*)type, holds);
}

void weft_hold_op(MPI_Op op, bool holds) {
  hold((opal_object_t*)op, holds);
}
