/* The host MPI's own collectives, as without the add-on: looked up in the MPI library itself, which
 * bypasses preloaded libraries. */
#ifndef WEFT_TESTS_MPI_HOST_H
#define WEFT_TESTS_MPI_HOST_H

#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>

#include "tests/mpi/program/check.h"

static inline void* host_symbol(const char* name) {
  static void* library = NULL;
  if (library == NULL) {
    /* A function that the add-on does not define. */
    Dl_info info;
    void* address = dlsym(RTLD_DEFAULT, "MPI_Get_version");
    if (address != NULL && dladdr(address, &info) != 0) {
      library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }
  }
  void* symbol = library == NULL ? NULL : dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "FAILED: no %s in the host MPI\n", name);
    exit(1);
  }
  return symbol;
}

/* HOST(MPI_Bcast)(...): the host's MPI_Bcast. */
#define HOST(name) ((__typeof__(&name))host_symbol(#name))

#endif
