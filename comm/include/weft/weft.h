/* The public C API of weft. Calls that say nothing else return 0 or an error below; weft_error()
   then gives one line that names the thing, its value and what is allowed. A communicator is used
   by one thread at a time, and no pointer to one may be null but where that is said. Semantics: see
   weft.hpp. */
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

/* How ranks reach one another before there is a channel. Callbacks return 0 on success; they are
   called by threads that use the communicator, until it is freed. `context` is handed to each. A
   rank's failure is not told to the others, which may wait for it: see Bootstrap::give_up() in
   bootstrap.hpp. */
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

/* Memory that the other ranks of the node see: weft::allocate in weft.hpp. Null when there is none;
   weft_free takes what it gave, or null. */
WEFT_C_API void* weft_alloc(size_t bytes);
WEFT_C_API void weft_free(void* memory);

WEFT_C_API int weft_comm_rank(const weft_comm* comm);
WEFT_C_API int weft_comm_size(const weft_comm* comm);

/* Collective. Block j of `input` becomes block rank of rank j's `output`; equal buffers mean in
   place, otherwise they do not overlap. */
WEFT_C_API int weft_alltoall(const void* input, void* output, size_t block_bytes, weft_comm* comm);

/* An alltoall to be started later, any number of times, while the program computes: in pieces, of
   piece_bytes of every block each (the last may be shorter; block_bytes: one piece), which are
   begun and waited for one by one. Making it is collective; the request is the caller's, to be
   freed by weft_request_free before the communicator, which waits for what is under way. `input`
   and `output` do not overlap. */
typedef struct weft_request weft_request;
WEFT_C_API int weft_alltoall_init(const void* input, void* output, size_t block_bytes,
                                  size_t piece_bytes, weft_comm* comm, weft_request** request);
WEFT_C_API void weft_request_free(weft_request* request);
WEFT_C_API size_t weft_request_pieces(const weft_request* request);
/* Begins all pieces that are left, or the next one alone; after the last one the first again. */
WEFT_C_API int weft_start(weft_request* request);
WEFT_C_API int weft_start_piece(weft_request* request);
/* Moves on what is under way; *is_here: whether all that was begun, or piece `number` from 0, has
   come. */
WEFT_C_API int weft_test(weft_request* request, int* is_here);
WEFT_C_API int weft_test_piece(weft_request* request, size_t number, int* is_here);
/* Returns when all that was begun, or that piece, has come. */
WEFT_C_API int weft_wait(weft_request* request);
WEFT_C_API int weft_wait_piece(weft_request* request, size_t number);

/* What an element is, and what a reduction does: as in kernels/operation.hpp. */
typedef enum weft_type {
  WEFT_INT8,
  WEFT_INT16,
  WEFT_INT32,
  WEFT_INT64,
  WEFT_UINT8,
  WEFT_UINT16,
  WEFT_UINT32,
  WEFT_UINT64,
  WEFT_FLOAT16,
  WEFT_BFLOAT16,
  WEFT_FLOAT32,
  WEFT_FLOAT64,
  WEFT_FLOAT_EXTENDED,
  WEFT_COMPLEX64,
  WEFT_COMPLEX128,
  WEFT_COMPLEX_EXTENDED,
  WEFT_INT16_INT32,
  WEFT_INT32_INT32,
  WEFT_INT64_INT32,
  WEFT_FLOAT32_INT32,
  WEFT_FLOAT64_INT32,
  WEFT_FLOAT_EXTENDED_INT32,
  WEFT_FLOAT32_FLOAT32,
  WEFT_FLOAT64_FLOAT64
} weft_type;

typedef enum weft_operator {
  WEFT_SUM,
  WEFT_PRODUCT,
  WEFT_MINIMUM,
  WEFT_MAXIMUM,
  WEFT_LOGICAL_AND,
  WEFT_LOGICAL_OR,
  WEFT_LOGICAL_XOR,
  WEFT_BITWISE_AND,
  WEFT_BITWISE_OR,
  WEFT_BITWISE_XOR,
  WEFT_MINIMUM_WITH_PLACE,
  WEFT_MAXIMUM_WITH_PLACE
} weft_operator;

/* What a reduction does with two elements. */
typedef struct weft_operation weft_operation;
/* One of those above; null where it is not defined on such elements. Never freed. */
WEFT_C_API const weft_operation* weft_predefined(weft_operator op, weft_type type);
/* One of the caller's own, to be freed by weft_operation_free: dst[i] = left[i] op right[i] for
   `elements` elements of `element_bytes` bytes; dst is left, or right, or apart from both. It must
   be associative, and commutes unless `commutative` is 0. `context` is handed to each call. */
typedef void weft_combine(const void* context, void* dst, const void* left, const void* right,
                          size_t elements);
WEFT_C_API int weft_operation_create(size_t element_bytes, int commutative, weft_combine* combine,
                                     const void* context, weft_operation** operation);
WEFT_C_API void weft_operation_free(weft_operation* operation);

/* Collective, with MPI's meaning; in place where weft.hpp says that buffers may be the same.
   `count` elements; reduce_scatter: of each block. */
WEFT_C_API int weft_barrier(weft_comm* comm);
WEFT_C_API int weft_broadcast(void* buffer, size_t bytes, int root, weft_comm* comm);
WEFT_C_API int weft_scatter(const void* input, void* output, size_t block_bytes, int root,
                            weft_comm* comm);
WEFT_C_API int weft_gather(const void* input, void* output, size_t block_bytes, int root,
                           weft_comm* comm);
WEFT_C_API int weft_allgather(const void* input, void* output, size_t block_bytes, weft_comm* comm);
WEFT_C_API int weft_reduce(const void* input, void* output, size_t count,
                           const weft_operation* operation, int root, weft_comm* comm);
WEFT_C_API int weft_allreduce(const void* input, void* output, size_t count,
                              const weft_operation* operation, weft_comm* comm);
WEFT_C_API int weft_reduce_scatter(const void* input, void* output, size_t count,
                                   const weft_operation* operation, weft_comm* comm);
WEFT_C_API int weft_scan(const void* input, void* output, size_t count,
                         const weft_operation* operation, weft_comm* comm);
WEFT_C_API int weft_exscan(const void* input, void* output, size_t count,
                           const weft_operation* operation, weft_comm* comm);

/* What went wrong in this thread's last call that failed. Valid until its next call. */
WEFT_C_API const char* weft_error(void);
WEFT_C_API const char* weft_version(void);

#ifdef __cplusplus
}
#endif
#endif
