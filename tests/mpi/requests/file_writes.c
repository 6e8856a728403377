/* Nonblocking collective writes and reads of one file, several at a time: inside of them the host
 * makes nonblocking collectives of its own, when it is called. */
#include "tests/mpi/program/check.h"

enum { kWrites = 8, kNumbers = 4096 };

static int value_of(int write, int rank, int i) {
  return write * 1000000 + rank * 10000 + i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file;
  MPI_Request requests[kWrites];
  MPI_Status statuses[kWrites];
  static int numbers[kWrites][kNumbers];
  const char* name = argc > 1 ? argv[1] : "file_writes.tmp";
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  /* Number i of all ranks, then number i + 1. */
  MPI_Datatype every;
  MPI_Type_create_resized(MPI_INT, 0, size * (MPI_Aint)sizeof(int), &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL);
  for (int write = 0; write < kWrites; ++write) {
    for (int i = 0; i < kNumbers; ++i) numbers[write][i] = value_of(write, rank, i);
    MPI_File_iwrite_at_all(file, write * (MPI_Offset)kNumbers, numbers[write], kNumbers, MPI_INT,
                           &requests[write]);
  }
  MPI_Waitall(kWrites, requests, statuses);
  memset(numbers, 0, sizeof numbers);
  for (int write = 0; write < kWrites; ++write) {
    MPI_File_iread_at_all(file, write * (MPI_Offset)kNumbers, numbers[write], kNumbers, MPI_INT,
                          &requests[write]);
  }
  MPI_Waitall(kWrites, requests, statuses);
  for (int write = 0; write < kWrites; ++write) {
    for (int i = 0; i < kNumbers; ++i) {
      const int right = value_of(write, rank, i);
      expect(numbers[write][i] == right, "%d, not %d", numbers[write][i], right);
    }
  }
  MPI_Type_free(&every);
  MPI_File_close(&file);
  return finish();
}
