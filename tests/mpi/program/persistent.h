/* INIT(Bcast): the function that makes a persistent collective, in the MPI's own name. */
#ifndef WEFT_TESTS_MPI_PERSISTENT_H
#define WEFT_TESTS_MPI_PERSISTENT_H

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

#endif
