/* The public C API of weft. Every call returns 0 or an error below; weft_error() then gives one
   line that names the thing, its value and what is allowed. Semantics: see weft.hpp. */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_C_API __attribute__((visibility("default")))
#else
#define WEFT_C_API
#endif

enum {
  WEFT_SUCCESS = 0,
  WEFT_ERR_USAGE = 1,  /* a bad argument or environment variable */
  WEFT_ERR_SYSTEM = 2, /* a system or device call failed */
  WEFT_ERR_PEER = 3,   /* another rank failed or died */
  WEFT_ERR_OTHER = 4
};

typedef struct weft_comm weft_comm;

/* How ranks reach one another before there is a channel. Callbacks return 0 on success. `context`
   is handed to each. */
typedef struct weft_bootstrap {
  void* context;
  int rank;
  int size;
  /* Everyone's `bytes` bytes at `mine`, in rank order, to `all` (size * bytes). Collective; the
     same number of bytes on every rank. */
  int (*allgather)(void* context, const void* mine, void* all, size_t bytes);
  /* Sends `bytes` at send[i] to rank peers[i] and receives as many from it into recv[i], for every
     i below `count`; the same number of bytes at both ends. */
  int (*exchange)(void* context, int count, const int* peers, const void* const* send,
                  void* const* recv, size_t bytes);
} weft_bootstrap;

/* Collective. The communicator is the caller's, to be freed by weft_comm_free. */
WEFT_C_API int weft_comm_create(const weft_bootstrap* bootstrap, weft_comm** comm);
/* From WEFT_RANK, WEFT_SIZE and WEFT_ROOT=host:port. */
WEFT_C_API int weft_comm_create_tcp(weft_comm** comm);
WEFT_C_API void weft_comm_free(weft_comm* comm);

WEFT_C_API int weft_comm_rank(const weft_comm* comm);
WEFT_C_API int weft_comm_size(const weft_comm* comm);

/* Collective. Block j of `input` becomes block rank of rank j's `output`; equal buffers mean in
   place, otherwise they do not overlap. */
WEFT_C_API int weft_alltoall(const void* input, void* output, size_t block_bytes, weft_comm* comm);

/* What went wrong in this thread's last call that failed. Valid until its next call. */
WEFT_C_API const char* weft_error(void);
WEFT_C_API const char* weft_version(void);

#ifdef __cplusplus
}
#endif
#endif
