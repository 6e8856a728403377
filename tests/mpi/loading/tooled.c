/* A tool of the profiling interface sees all calls of the program, behind the add-on, too. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "tests/mpi/program/check.h"

int main(int argc, char** argv) {
  enum { kCalls = 20 };
  int (*tool_calls)(void);
  *(void**)&tool_calls = dlsym(RTLD_DEFAULT, "tool_calls");
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kCalls; ++i) expect_ints_arrive(MPI_COMM_WORLD, 1 + i, "under a tool");
  expect(tool_calls != NULL && tool_calls() == 1 + kCalls, "the tool has seen %d calls, not %d",
         tool_calls == NULL ? -1 : tool_calls(), 1 + kCalls);
  return finish();
}
