/* The host MPI's own collectives: those that a program has without the add-on, found in the library
 * where they are, which no preloaded library stands before. */
#ifndef WEFT_TESTS_MPI_HOST_H
#define WEFT_TESTS_MPI_HOST_H

#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>

#include "check.h"

static inline void* host_symbol(const char* name) {
  static void* library = NULL;
  if (library == NULL) {
    /* The add-on leaves this one alone. */
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

/* HOST(MPI_Bcast)(...): MPI_Bcast as the host does it. */
#define HOST(name) ((__typeof__(&name))host_symbol(#name))

#endif
