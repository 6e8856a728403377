/* Counts past 2^31, by the functions of MPI 4 that take them (as_large.h): a broadcast, an
   allreduce in place of one buffer, and an alltoall in place between two ranks. Every byte is
   checked. Takes 4 GiB a rank. */
#include "tests/mpi/program/check.h"

static const MPI_Count kBytes = ((MPI_Count)1 << 31) + 4099;

/* Differs between most bytes that are 2^31 or 2^32 apart, as a count cut to 32 bits mixes them. */
static unsigned char pattern(MPI_Count at) {
  return (unsigned char)((at % 251) ^ (at >> 31));
}

static MPI_Count first_wrong(const unsigned char* bytes, int more) {
  for (MPI_Count at = 0; at < kBytes; ++at) {
    if (bytes[at] != (unsigned char)(pattern(at) / 2 + more)) return at;
  }
  return -1;
}

/* Two blocks of kBytes, each made of the ranks that send and receive it; on two ranks. */
static unsigned char block_byte(int from, int to, MPI_Count at) {
  return (unsigned char)(pattern(at) / 4 + 64 * (2 * from + to));
}

static void check_alltoall(int rank) {
  unsigned char* blocks = malloc(2 * (size_t)kBytes);
  if (blocks == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int peer = 0; peer < 2; ++peer) {
    for (MPI_Count at = 0; at < kBytes; ++at) {
      blocks[peer * kBytes + at] = block_byte(rank, peer, at);
    }
  }
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, kBytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int peer = 0; peer < 2; ++peer) {
    MPI_Count at = 0;
    while (at < kBytes && blocks[peer * kBytes + at] == block_byte(peer, rank, at)) ++at;
    expect(at == kBytes, "alltoall: byte %lld from rank %d on rank %d", (long long)at, peer, rank);
  }
  free(blocks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* bytes = malloc((size_t)kBytes);
  if (bytes == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (MPI_Count at = 0; at < kBytes; ++at) {
    bytes[at] = rank == 0 ? (unsigned char)(pattern(at) / 2) : 0xff;
  }
  MPI_Bcast(bytes, kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Count wrong = first_wrong(bytes, 0);
  expect(wrong == -1, "broadcast: byte %lld on rank %d", (long long)wrong, rank);

  for (MPI_Count at = 0; at < kBytes; ++at) {
    bytes[at] = (unsigned char)(pattern(at) / 2 + rank);
  }
  MPI_Allreduce(MPI_IN_PLACE, bytes, kBytes, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
  wrong = first_wrong(bytes, size - 1);
  expect(wrong == -1, "allreduce: byte %lld on rank %d", (long long)wrong, rank);
  free(bytes);
  if (size == 2) check_alltoall(rank);
  return finish();
}
