#include "mpi/world/neighbourhood.hpp"

#include <cstddef>

#include "mpi/host/host.hpp"

namespace weft::mpi {

namespace {

std::vector<Neighbour> in_order(const std::vector<int>& ranks) {
  std::vector<Neighbour> neighbours;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != MPI_PROC_NULL) neighbours.push_back({ranks[i], static_cast<int>(i)});
  }
  return neighbours;
}

/// Where blocks are sent, in the order in which they are received: the two of a dimension change
/// places.
std::vector<Neighbour> turned(const std::vector<int>& ranks) {
  std::vector<Neighbour> neighbours;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t block = i ^ 1;
    if (ranks[block] != MPI_PROC_NULL)
      neighbours.push_back({ranks[block], static_cast<int>(block)});
  }
  return neighbours;
}

Neighbourhood of_cartesian(MPI_Comm comm) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  std::vector<int> ranks, sizes(static_cast<std::size_t>(dimensions)), are_periodic = sizes,
                                                                       own_place = sizes;
  PMPI_Cart_get(comm, dimensions, sizes.data(), are_periodic.data(), own_place.data());
  bool has_pairs_joined_twice = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    has_pairs_joined_twice |= are_periodic[i] != 0 && sizes[i] <= 2;
  }
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int behind = MPI_PROC_NULL, before = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, dimension, 1, &behind, &before);
    ranks.insert(ranks.end(), {behind, before});
  }
  const auto blocks = static_cast<int>(ranks.size());
  return {.exists = true,
          .is_matched_by_host = kMatchesEdgesInOrder || !has_pairs_joined_twice,
          .is_grid = true,
          .is_of_all = true,
          .sends = blocks,
          .receives = blocks,
          .destinations = turned(ranks),
          .sources = in_order(ranks)};
}

Neighbourhood of_graph(MPI_Comm comm) {
  int rank = 0, degree = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Graph_neighbors_count(comm, rank, &degree);
  std::vector<int> ranks(static_cast<std::size_t>(degree));
  PMPI_Graph_neighbors(comm, rank, degree, ranks.data());
  int size = 0;
  PMPI_Comm_size(comm, &size);
  bool is_of_all = true;
  for (int other = 0; other < size && is_of_all; ++other) {
    int edges = 0;
    PMPI_Graph_neighbors_count(comm, other, &edges);
    is_of_all = edges > 0;
  }
  return {.exists = true,
          .is_matched_by_host = kMatchesEdgesInOrder,
          .is_of_all = is_of_all,
          .sends = degree,
          .receives = degree,
          .destinations = in_order(ranks),
          .sources = in_order(ranks)};
}

Neighbourhood of_distributed_graph(MPI_Comm comm, bool is_of_all) {
  int receives = 0, sends = 0, weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &receives, &sends, &weighted);
  std::vector<int> sources(static_cast<std::size_t>(receives));
  std::vector<int> destinations(static_cast<std::size_t>(sends));
  std::vector<int> source_weights(sources.size() + 1), weights(destinations.size() + 1);
  PMPI_Dist_graph_neighbors(comm, receives, sources.data(), source_weights.data(), sends,
                            destinations.data(), weights.data());
  return {.exists = true,
          .is_matched_by_host = kMatchesEdgesInOrder,
          .is_of_all = is_of_all,
          .sends = sends,
          .receives = receives,
          .destinations = in_order(destinations),
          .sources = in_order(sources)};
}

}  // namespace

Neighbourhood neighbourhood_of(MPI_Comm comm, bool graph_is_of_all) {
  int kind = MPI_UNDEFINED;
  if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return {};
  if (kind == MPI_CART) return of_cartesian(comm);
  if (kind == MPI_GRAPH) return of_graph(comm);
  if (kind == MPI_DIST_GRAPH) return of_distributed_graph(comm, graph_is_of_all);
  return {};
}

}  // namespace weft::mpi
