/* An alltoallw, not blocking, on a grid of fewer ranks than a rank has neighbours there. Open MPI
 * looks at a datatype for each neighbour, which programs may well have behind those of the ranks.
 */
#include "tests/mpi/program/check.h"
#include "tests/mpi/program/persistent.h"

enum { kTypes = 16, kTurns = 4, kInts = 50 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, dims[2] = {0, 1}, periods[2] = {1, 1};
  int send[2 * kInts], receive[2 * kInts], counts[2] = {1, 1}, places[2];
  MPI_Datatype types[kTypes], row;
  MPI_Comm grid;
  MPI_Request request;
  MPI_Dims_create(2, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Comm_size(grid, &size);
  MPI_Type_vector(kInts, 1, 1, MPI_INT, &row);
  MPI_Type_commit(&row);
  for (int i = 0; i < kTypes; ++i) types[i] = i < size ? row : MPI_BYTE;
  for (int i = 0; i < size; ++i) places[i] = i * kInts * (int)sizeof(int);
  INIT(Alltoallw)
  (send, counts, places, types, receive, counts, places, types, grid, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < kTurns; ++turn) {
    int wrong = 0;
    for (int i = 0; i < size * kInts; ++i) send[i] = turn * 1000 + rank * 500 + i;
    memset(receive, 0, sizeof receive);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size * kInts; ++i)
      wrong += receive[i] != turn * 1000 + i / kInts * 500 + rank * kInts + i % kInts;
    expect(wrong == 0, "turn %d: %d ints of %d are wrong", turn, wrong, size * kInts);
  }
  MPI_Request_free(&request);
  MPI_Type_free(&row);
  MPI_Comm_free(&grid);
  return finish();
}
