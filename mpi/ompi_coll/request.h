// Requests of collectives that weft has begun, as Open MPI knows them; and what else weft asks of
// Open MPI: see host_facts.h.
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "mpi/host/host_facts.h"

bool weft_call_in_waits(int (*progress)(void));
MPI_Request weft_new_request(MPI_Comm comm);
MPI_Request weft_new_persistent_request(MPI_Comm comm, struct weft_startable started);
void weft_complete(MPI_Request request, int code);
void weft_hold_type(MPI_Datatype type, bool holds);
void weft_hold_op(MPI_Op op, bool holds);
