/* A driver of CUDA, or of ROCm with -DROCM: its memory is a mapping that nobody may touch, and
 * copies go by another mapping of the same pages. So whoever takes a device pointer for one of this
 * processor crashes. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 64 << 20 };
static char* device;
static char* reachable;
static size_t taken;
static long copies;

static char* reach(uint64_t pointer) {
  const uint64_t begin = (uint64_t)(uintptr_t)device;
  const int inside = device != NULL && pointer >= begin && pointer < begin + BYTES;
  return inside ? reachable + (pointer - begin) : NULL;
}

/* For the test. */
void* fake_allocate(size_t bytes) {
  if (device == NULL) {
    const int file = memfd_create("device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, BYTES) != 0) return NULL;
    device = mmap(NULL, BYTES, PROT_NONE, MAP_SHARED, file, 0);
    reachable = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  void* memory = device + taken;
  taken += (bytes + 4095) / 4096 * 4096;
  return taken <= BYTES ? memory : NULL;
}
long fake_copies(void) {
  return copies;
}

int fake_copy(uint64_t to, uint64_t from, size_t bytes) {
  char* there = reach(to);
  char* here = reach(from);
  memcpy(there != NULL ? there : (char*)(uintptr_t)to, here != NULL ? here : (char*)(uintptr_t)from,
         bytes);
  return 0;
}

#ifdef ROCM
static int last_error;
int hipPeekAtLastError(void) {
  return last_error;
}
int hipGetLastError(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}
int hipPointerGetAttribute(void* value, int attribute, void* pointer) {
  const int known = attribute == 2 && reach((uint64_t)(uintptr_t)pointer) != NULL;
  if (!known) return last_error = 1; /* hipErrorInvalidValue */
  *(unsigned*)value = 2;             /* hipMemoryTypeDevice */
  return 0;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  ++copies;
  return kind != 4 ? 1 : fake_copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes);
}
int fake_error(void) {
  return last_error;
}
#else
int cuPointerGetAttribute(void* value, int attribute, uint64_t pointer) {
  if (attribute != 2 || reach(pointer) == NULL) return 1; /* CUDA_ERROR_INVALID_VALUE */
  *(unsigned*)value = 2;                                  /* CU_MEMORYTYPE_DEVICE */
  return 0;
}
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
  ++copies;
  return fake_copy(to, from, bytes);
}
int fake_error(void) {
  return 0;
}
#endif
