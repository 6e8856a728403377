/* Preloaded in front of the add-on: fails system calls and verbs that weft makes on one rank, and
 * counts them. The calls of the program, of its MPI and of the C library are left alone.
 *
 *   FAIL_CALL=mmap:3    the third call of mmap fails; mmap:3+: that and all later ones; mmap:0:
 *                       none
 *   FAIL_RANK=1         on this rank of Open MPI (OMPI_COMM_WORLD_RANK); all: on each
 *   FAIL_COUNT=FILE     the rank writes there at its end how many calls there were
 *   FAIL_ERROR=4        with this error, not the call's own
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static char failing[40]; /* empty: this process fails nothing */
static long fails_at;
static int fails_after;
static long calls;
static int other_error; /* with this instead of each call's own */

static void* (*real_dlsym)(void*, const char*);

static void* find(const char* name) {
  if (real_dlsym == NULL) {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (found == NULL) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (found == NULL) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
    if (found == NULL) abort();
    real_dlsym = (void* (*)(void*, const char*))found;
  }
  return real_dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void start(void) {
  const char* call = getenv("FAIL_CALL");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* wanted = getenv("FAIL_RANK");
  if (call == NULL || rank == NULL || wanted == NULL) return;
  if (strcmp(wanted, "all") != 0 && strcmp(rank, wanted) != 0) return;
  char after = 0;
  if (sscanf(call, "%39[^:]:%ld%c", failing, &fails_at, &after) < 2) abort();
  fails_after = after == '+';
  const char* error = getenv("FAIL_ERROR");
  if (error != NULL) other_error = (int)strtol(error, NULL, 10);
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("FAIL_COUNT");
  FILE* file = failing[0] != 0 && path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "%ld\n", calls);
  fclose(file);
}

/* Threads of weft are started by way of the C++ library. */
static int is_of_weft(const void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return 0;
  if (strstr(info.dli_fname, "libweft-") != NULL) return 1;
  return strcmp(failing, "pthread_create") == 0 && strstr(info.dli_fname, "libstdc++") != NULL;
}

static int fails(const char* name, const void* caller) {
  if (failing[0] == 0 || strcmp(name, failing) != 0 || !is_of_weft(caller)) return 0;
  const long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  return number == fails_at || (fails_after && fails_at != 0 && number > fails_at);
}

/* All arguments are integers or pointers, six at most, and so is what is returned. The functions
 * have names of their own here, since their declarations differ. */
#define FAILING_AS(symbol, name, error, returned)                                         \
  long fail_##symbol(long, long, long, long, long, long) __asm__(#symbol);                \
  long fail_##symbol(long a, long b, long c, long d, long e, long f) {                    \
    static long (*real)(long, long, long, long, long, long);                              \
    if (real == NULL) real = (long (*)(long, long, long, long, long, long))find(#symbol); \
    if (!fails(name, __builtin_return_address(0))) return real(a, b, c, d, e, f);         \
    errno = other_error != 0 ? other_error : error;                                       \
    return returned == error ? errno : returned;                                          \
  }
#define FAILING(name, error, returned) FAILING_AS(name, #name, error, returned)

FAILING(memfd_create, EMFILE, -1)
FAILING(ftruncate, ENOSPC, -1)
FAILING(fallocate, ENOSPC, -1)
FAILING(posix_fallocate, ENOSPC, ENOSPC)
FAILING(mmap, ENOMEM, -1)
FAILING(openat, EMFILE, -1)
FAILING(fopen, EMFILE, 0)
FAILING(opendir, EMFILE, 0)
FAILING(stat, EACCES, -1)
FAILING(fstat, ENOMEM, -1)
FAILING(fcntl, EPERM, -1)
FAILING(socket, EMFILE, -1)
FAILING(bind, ENOMEM, -1)
FAILING(listen, ENOMEM, -1)
FAILING(connect, ECONNREFUSED, -1)
FAILING(accept4, EMFILE, -1)
FAILING(sendmsg, ENOBUFS, -1)
FAILING(recvmsg, ENOMEM, -1)
FAILING(recv, ENOMEM, -1)
FAILING(pthread_create, EAGAIN, EAGAIN)
FAILING(process_vm_readv, EPERM, -1)
FAILING(process_vm_writev, EPERM, -1)
FAILING(epoll_create1, EMFILE, -1)
FAILING(epoll_ctl, ENOMEM, -1)
FAILING(epoll_wait, ENOMEM, -1)
FAILING(eventfd, EMFILE, -1)
FAILING(poll, ENOMEM, -1)
FAILING(pipe, EMFILE, -1)
FAILING(fork, EAGAIN, -1)
FAILING(getrandom, ENOSYS, -1)
FAILING(dlopen, ENOMEM, 0)
FAILING(sched_getaffinity, EPERM, -1)

/* Not that of the report, which says how it ended. */
int fail_open(const char*, int, unsigned) __asm__("open");
int fail_open(const char* path, int flags, unsigned mode) {
  static int (*real)(const char*, int, unsigned);
  if (real == NULL) real = (int (*)(const char*, int, unsigned))find("open");
  const char* report = getenv("WEFT_REPORT");
  const int is_report = report != NULL && strcmp(path, report) == 0;
  if (is_report || !fails("open", __builtin_return_address(0))) return real(path, flags, mode);
  errno = other_error != 0 ? other_error : EMFILE;
  return -1;
}

/* By number: those of which programs take the absence for granted. */
long fail_syscall(long, long, long, long, long, long, long) __asm__("syscall");
long fail_syscall(long number, long a, long b, long c, long d, long e, long f) {
  static long (*real)(long, long, long, long, long, long, long);
  if (real == NULL) real = (long (*)(long, long, long, long, long, long, long))find("syscall");
  const char* name = number == SYS_pidfd_open    ? "pidfd_open"
                     : number == SYS_kcmp        ? "kcmp"
                     : number == SYS_userfaultfd ? "userfaultfd"
                                                 : NULL;
  if (name == NULL || !fails(name, __builtin_return_address(0))) {
    return real(number, a, b, c, d, e, f);
  }
  errno = EPERM;
  return -1;
}

/* Verbs and functions of PMIx, which weft asks dlsym for. */
static long (*real_verb)(long, long, long, long, long, long);

static long fail_verb(long a, long b, long c, long d, long e, long f) {
  if (!fails(failing, __builtin_return_address(0))) return real_verb(a, b, c, d, e, f);
  errno = ENOMEM;
  const int returns_status = strstr(failing, "_query_") != NULL || strstr(failing, "_modify_");
  return returns_status ? ENOMEM : 0;
}

/* Fails as if the launcher could not be reached. */
static long fail_get(long a, long b, long c, long d, long e, long f) {
  enum { kUnreachable = -25 };
  return fails(failing, __builtin_return_address(0)) ? kUnreachable : real_verb(a, b, c, d, e, f);
}

/* The real one goes by its caller's place in the order of libraries, so it is jumped to. */
void* fail_dlsym(void*, const char*) __asm__("dlsym");
__attribute__((optimize("O2"))) void* fail_dlsym(void* handle, const char* name) {
  if (real_dlsym == NULL) find("dlsym");
  const int of_pmix = strncmp(name, "PMIx_", 5) == 0;
  if ((!of_pmix && strncmp(name, "ibv_", 4) != 0) || strcmp(name, failing) != 0 ||
      !is_of_weft(__builtin_return_address(0))) {
    return real_dlsym(handle, name);
  }
  const int is_get = strcmp(name, "PMIx_Get") == 0;
  if (of_pmix && !is_get) return NULL; /* at every count */
  void* found = real_dlsym(handle, name);
  Dl_info info;
  if (found != NULL && is_get) {
    real_verb = (long (*)(long, long, long, long, long, long))found;
    return (void*)fail_get;
  }
  if (found == NULL || dladdr(found, &info) == 0 || strstr(info.dli_fname, "libweft-") == NULL) {
    return found; /* of the system's libibverbs */
  }
  real_verb = (long (*)(long, long, long, long, long, long))found;
  return (void*)fail_verb;
}
