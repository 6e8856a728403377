// Arguments of the collectives that take arrays.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "mpi/calls/described.hpp"
#include "plan/problem.hpp"

namespace weft::mpi {

/// The arguments of MPI_Alltoallv, in its order.
struct VectorArguments {
  const void* input;
  const int* send_counts;
  const int* send_places;
  MPI_Datatype send_type;
  void* output;
  const int* receive_counts;
  const int* receive_places;
  MPI_Datatype receive_type;
  MPI_Comm comm;
};

/// The arguments of MPI_Alltoallw, in its order.
struct TypedArguments {
  const void* input;
  const int* send_counts;
  const int* send_places;
  const MPI_Datatype* send_types;
  void* output;
  const int* receive_counts;
  const int* receive_places;
  const MPI_Datatype* receive_types;
  MPI_Comm comm;
};

/// The arguments of MPI_Allgatherv, in its order.
struct GatherArguments {
  const void* input;
  int count;
  MPI_Datatype send_type;
  void* output;
  const int* counts;
  const int* places;
  MPI_Datatype receive_type;
  MPI_Comm comm;
};

/// The arguments of MPI_Gatherv and MPI_Scatterv. What is of all ranks may be anything but at the
/// root.
struct RootedArguments {
  plan::Collective collective;
  const void* own;  // this rank's block
  int count;
  MPI_Datatype own_type;
  const void* all;
  const int* counts;
  const int* places;
  MPI_Datatype all_type;
  int root;
  MPI_Comm comm;

  static RootedArguments of_gatherv(const void* own, int count, MPI_Datatype own_type, void* all,
                                    const int* counts, const int* places, MPI_Datatype all_type,
                                    int root, MPI_Comm comm) {
    return {
        plan::Collective::gather, own, count, own_type, all, counts, places, all_type, root, comm};
  }
  static RootedArguments of_scatterv(const void* all, const int* counts, const int* places,
                                     MPI_Datatype all_type, void* own, int count,
                                     MPI_Datatype own_type, int root, MPI_Comm comm) {
    return {
        plan::Collective::scatter, own, count, own_type, all, counts, places, all_type, root, comm};
  }
};

/// The arguments of MPI_Reduce_scatter, in its order.
struct ReduceScatterArguments {
  const void* input;
  void* output;
  const int* counts;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};

/// Whether calls of the function MPI_Name may be vector repeats.
template <Text name>
constexpr bool may_repeat_vector() {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"Alltoallv", "Alltoallw", "Allgatherv", "Gatherv", "Scatterv", "Reduce_scatter"});
  return std::ranges::any_of(kNames, [](std::string_view one) { return name.is(one); });
}

/// The arguments of the function MPI_Name.
template <Text name, class... Given>
[[gnu::always_inline]] inline auto vector_arguments(Given... given) {
  if constexpr (name.is("Alltoallv")) {
    return VectorArguments{given...};
  } else if constexpr (name.is("Alltoallw")) {
    return TypedArguments{given...};
  } else if constexpr (name.is("Allgatherv")) {
    return GatherArguments{given...};
  } else if constexpr (name.is("Gatherv")) {
    return RootedArguments::of_gatherv(given...);
  } else if constexpr (name.is("Scatterv")) {
    return RootedArguments::of_scatterv(given...);
  } else {
    static_assert(name.is("Reduce_scatter"));
    return ReduceScatterArguments{given...};
  }
}

}  // namespace weft::mpi
