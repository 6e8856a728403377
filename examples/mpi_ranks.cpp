// MPI and weft in one program: a collective of weft is in progress while the ranks call MPI.
//
//   mpirun -n 4 build/release/examples/mpi_ranks
#include <cstdio>
#include <vector>

#include "weft/mpi.hpp"
#include "weft/weft.hpp"

namespace {

/// Whether both sums are right: weft's, and the sum that MPI computes meanwhile.
bool run(MPI_Comm comm) {
  weft::Communicator world(weft::mpi_bootstrap(comm));
  std::vector<double> mine(100'000, 1.0 + world.rank()), sum(mine.size());
  weft::Request reduction =
      world.allreduce_init(mine.data(), sum.data(), mine.size(),
                           weft::operation(weft::Operator::sum, weft::Type::float64));
  reduction.start();
  int one = 1, ranks = 0;
  MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, comm);
  reduction.wait();
  const double expected = 0.5 * ranks * (ranks + 1);
  bool right = ranks == world.size();
  for (const double number : sum) right = right && number == expected;
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    right = run(MPI_COMM_WORLD);
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "mpi_ranks: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%s\n", right ? "right" : "WRONG");
  MPI_Finalize();
  return right ? 0 : 1;
}
