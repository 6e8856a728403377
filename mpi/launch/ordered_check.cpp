#include "mpi/launch/ordered_check.hpp"

#include <algorithm>
#include <vector>

#include "mpi/launch/host_buffers.hpp"

namespace weft {

namespace {

/// x -> factor * x + rest, modulo 2^32.
struct Map {
  unsigned factor = 1, rest = 0;

  bool operator==(const Map&) const = default;
};

/// `first`, then `second`.
Map composed(const Map& first, const Map& second) {
  return {first.factor * second.factor, second.factor * first.rest + second.rest};
}

// The type is MPI_User_function.
// NOLINTNEXTLINE(readability-non-const-parameter)
void compose(void* input, void* output, int* count, MPI_Datatype* /*type*/) {
  const Map* first = static_cast<const Map*>(input);
  Map* second = static_cast<Map*>(output);
  for (int i = 0; i < *count; ++i) second[i] = composed(first[i], second[i]);
}

Map map_of(int rank, std::size_t element) {
  const auto number = static_cast<unsigned>(element);
  return {2 * static_cast<unsigned>(rank) + 3, number + static_cast<unsigned>(rank)};
}

/// Of ranks below `end`.
Map expected(int end, std::size_t element) {
  Map all;
  for (int rank = 0; rank < end; ++rank) all = composed(all, map_of(rank, element));
  return all;
}

}  // namespace

bool keeps_order(const std::string& collective, std::size_t bytes, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(Map));
  const bool scatters = collective == "reduce_scatter_block";
  const std::size_t all = scatters ? count * static_cast<std::size_t>(ranks) : count;
  std::vector<Map> input(all), output(all);
  for (std::size_t i = 0; i < all; ++i) input[i] = map_of(rank, i);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  PMPI_Type_contiguous(2, MPI_UNSIGNED, &type);
  PMPI_Type_commit(&type);
  PMPI_Op_create(compose, 0, &operation);
  const int error = call_reduction(collective, input.data(), output.data(), static_cast<int>(count),
                                   type, operation, comm);
  PMPI_Op_free(&operation);
  PMPI_Type_free(&type);
  if (error != MPI_SUCCESS) return false;
  if ((collective == "reduce" && rank != 0) || (collective == "exscan" && rank == 0)) return true;
  const int end = collective == "scan" ? rank + 1 : collective == "exscan" ? rank : ranks;
  const std::size_t first = scatters ? count * static_cast<std::size_t>(rank) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (output[i] != expected(end, first + i)) return false;
  }
  return true;
}

}  // namespace weft
