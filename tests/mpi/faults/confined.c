/* Runs a program under limits of the system, on all ranks or on some:
 *
 *   confined RANKS LIMIT... -- PROGRAM ARGUMENTS...
 *
 * RANKS: all, or numbers with commas. LIMIT: files=N, locked=KIB; memory=FILE+MIB (of addresses,
 * beside as many as the number in the file, which a run of the program without limits has written);
 * refuse=NAME,... (system calls that fail with EPERM, as under a container's filter); no-proc (an
 * empty folder is mounted over /proc); shm=KIB (/dev/shm is that small); read-only-shm. Ends with
 * 77 where the system does not let it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REFUSED_HERE = 77, MOST_CALLS = 16 };

static void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "confined: %s: %s\n", what, strerror(errno));
  exit(REFUSED_HERE);
}

static void limit(int resource, const char* text, rlim_t unit) {
  const rlim_t most = (rlim_t)strtoul(text, NULL, 10) * unit;
  const struct rlimit limits = {most, most};
  require(setrlimit(resource, &limits) == 0, "setrlimit");
}

static void limit_memory(char* file_and_more) {
  char* more = strrchr(file_and_more, '+');
  if (more != NULL) *more++ = '\0';
  FILE* file = fopen(file_and_more, "r");
  unsigned long peak = 0;
  if (more == NULL || file == NULL || fscanf(file, "%lu", &peak) != 1) {
    fprintf(stderr, "confined: memory=%s: no FILE+MIB\n", file_and_more);
    exit(1);
  }
  fclose(file);
  char sum[24];
  snprintf(sum, sizeof sum, "%lu", peak + strtoul(more, NULL, 10));
  limit(RLIMIT_AS, sum, 1 << 20);
}

static long number_of(const char* name) {
  static const struct {
    const char* name;
    long number;
  } calls[] = {{"process_vm_readv", SYS_process_vm_readv},
               {"process_vm_writev", SYS_process_vm_writev},
               {"userfaultfd", SYS_userfaultfd},
               {"memfd_create", SYS_memfd_create},
               {"pidfd_open", SYS_pidfd_open},
               {"pidfd_getfd", SYS_pidfd_getfd},
               {"kcmp", SYS_kcmp},
               {"futex_waitv", 449},
               {"membarrier", SYS_membarrier},
               {"move_pages", SYS_move_pages},
               {"mbind", SYS_mbind},
               {"get_mempolicy", SYS_get_mempolicy},
               {"sched_setaffinity", SYS_sched_setaffinity},
               {"eventfd", SYS_eventfd2},
               {"socket", SYS_socket},
               {"fallocate", SYS_fallocate}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    if (strcmp(calls[i].name, name) == 0) return calls[i].number;
  }
  fprintf(stderr, "confined: no system call %s\n", name);
  exit(1);
}

static void refuse(char* names) {
  struct sock_filter code[2 * MOST_CALLS + 2] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 1;
  for (char* name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
    if (length > 2 * MOST_CALLS - 1) abort();
    code[length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(name), 0, 1);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {length, code};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "seccomp");
}

static void mount_over(const char* folder, unsigned long flags, const char* options) {
  require(unshare(CLONE_NEWNS) == 0, "unshare");
  require(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount private");
  require(mount("none", folder, "tmpfs", flags, options) == 0, "mount");
}

static void confine(char* what) {
  char* value = strchr(what, '=');
  if (value != NULL) *value++ = '\0';
  if (strcmp(what, "files") == 0) return limit(RLIMIT_NOFILE, value, 1);
  if (strcmp(what, "locked") == 0) return limit(RLIMIT_MEMLOCK, value, 1 << 10);
  if (strcmp(what, "memory") == 0) return limit_memory(value);
  if (strcmp(what, "refuse") == 0) return refuse(value);
  if (strcmp(what, "no-proc") == 0) return mount_over("/proc", 0, NULL);
  if (strcmp(what, "read-only-shm") == 0) return mount_over("/dev/shm", MS_RDONLY, NULL);
  if (strcmp(what, "shm") == 0) {
    char options[40];
    snprintf(options, sizeof options, "size=%lu", strtoul(value, NULL, 10) << 10);
    return mount_over("/dev/shm", 0, options);
  }
  fprintf(stderr, "confined: no limit %s\n", what);
  exit(1);
}

static int is_here(char* ranks) {
  if (strcmp(ranks, "all") == 0) return 1;
  const char* here = getenv("OMPI_COMM_WORLD_RANK");
  if (here == NULL) here = getenv("PMI_RANK");
  for (char* rank = strtok(ranks, ","); here != NULL && rank != NULL; rank = strtok(NULL, ",")) {
    if (strcmp(rank, here) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  const int here = is_here(argv[1]);
  int i = 2;
  for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (here) confine(argv[i]);
  }
  if (i + 1 >= argc) return 1;
  execv(argv[i + 1], &argv[i + 1]);
  perror(argv[i + 1]);
  return 1;
}
