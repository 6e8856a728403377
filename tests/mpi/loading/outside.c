/* A program that loads MPI late, by a library opened with RTLD_LOCAL, as an interpreter does. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*run)(void) = (int (*)(void))dlsym(library, "run");
  return run == NULL ? 1 : run();
}
