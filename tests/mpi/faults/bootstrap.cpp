// bootstrap: weft::mpi_bootstrap() gathers and exchanges texts of any length, and where one
// rank fails by itself, each rank ends in the same error and none waits for ever.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/comm/support/own_failure_cases.hpp"
#include "weft/mpi.hpp"

namespace weft {
namespace {

int rank = 0;
int failures = 0;

void expect(bool right, const std::string& what) {
  if (right) return;
  std::fprintf(stderr, "FAILED on rank %d: %s\n", rank, what.c_str());
  ++failures;
}

/// What a rank gives: of no bytes, of one piece, of several.
std::string text_of(int from, int round) {
  const std::size_t lengths[] = {0, 7, 2048, 2049, 9000};
  return std::string(lengths[(from + round) % 5], static_cast<char>('a' + (from + 3 * round) % 26));
}

void exchange_texts(Bootstrap& bootstrap) {
  std::vector<int> peers;
  std::vector<std::string> mine, theirs, all;
  for (int round = 0; round < 5; ++round) {
    peers.clear(), mine.clear(), theirs.clear(), all.clear();
    for (int one = 0; one < bootstrap.size(); ++one) {
      all.push_back(text_of(one, round));
      if (one == bootstrap.rank()) continue;
      peers.push_back(one);
      mine.push_back(text_of(one, bootstrap.rank()));
      theirs.push_back(text_of(bootstrap.rank(), one));
    }
    expect(bootstrap.allgather(text_of(bootstrap.rank(), round)) == all, "allgather");
    expect(bootstrap.exchange(peers, mine) == theirs, "exchange");
  }
}

void among_first(int ranks) {
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, 0, &some);
  if (some == MPI_COMM_NULL) return;
  exchange_texts(*mpi_bootstrap(some));
  MPI_Comm_free(&some);
}

/// Who has given up takes no part in later calls, and a bootstrap made after it hears nothing of
/// what is left.
void give_up_in_turn(int ranks) {
  for (int last = 0; last < ranks; ++last) {
    const auto bootstrap = mpi_bootstrap(MPI_COMM_WORLD);
    std::string heard;
    try {
      exchange_texts(*bootstrap);  // others may hear of it here already
      if (rank == last) bootstrap->give_up("enough");
      bootstrap->allgather(text_of(rank, 0));
    } catch (const PeerError& error) {
      heard = error.what();
    }
    expect(heard == "enough", "after rank " + std::to_string(last) + " gave up: '" + heard + "'");
  }
}

void fail_alone() {
  using namespace test::own_failure;  // NOLINT(google-build-using-namespace)
  for (const auto& nodes : std::vector<std::vector<int>>{{0, 0, 0, 0}, {0, 0, 1, 1}}) {
    Options options;
    options.node_of_rank = nodes;
    for (const Case& one : kCases) {
      std::string said;
      try {
        Communicator comm(mpi_bootstrap(MPI_COMM_WORLD), options);
        said = error_of(comm, one);
      } catch (const PeerError& error) {
        said = error.what();  // while this rank was still in the set-up
      }
      expect(said == kError, "case " + std::to_string(&one - kCases) + ", last node " +
                                 std::to_string(nodes.back()) + ": '" + said + "'");
    }
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &weft::rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int ranks = 1; ranks <= size; ++ranks) weft::among_first(ranks);
  weft::give_up_in_turn(size);
  if (size == weft::test::own_failure::kRanks) weft::fail_alone();
  int all = 0;
  MPI_Allreduce(&weft::failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
