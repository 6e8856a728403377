// The collectives in each form, as one statement: FORM(Bcast, bcast, form, request, arguments...).
#pragma once

#include <mpi.h>

#include "call.hpp"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define PERSISTENT_NAME(name) MPIX_##name##_init
#else
#define PERSISTENT_NAME(name) MPI_##name##_init
#endif

#define FORM(name, lower, form, request, ...)                         \
  ((form) == Form::blocking      ? MPI_##name(__VA_ARGS__)            \
   : (form) == Form::nonblocking ? MPI_I##lower(__VA_ARGS__, request) \
                                 : PERSISTENT_NAME(name)(__VA_ARGS__, MPI_INFO_NULL, request))
