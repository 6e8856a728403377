// Vector repeats: blocking alltoallvs, allgathervs, gathervs, scattervs and reduce_scatters with
// the counts, places and datatypes of an earlier one, which weft makes without working out again
// where their blocks lie.
//
// Repeats (repeats.hpp) of calls whose arguments are arrays. Of the last few such calls that weft
// has served straight from and to the program's buffers the arrays are copied, with what follows
// from them: the parts of an alltoallv, the call of weft that another one is. A call whose arrays
// have the same numbers takes these, under the same conditions as a repeat: that is a rank's own
// affair. What ranks ask one another now and then in alltoallvs, whether somebody packs, is counted
// here as in the long way, which makes the calls in which it is due.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/described.hpp"
#include "mpi/calls/reductions.hpp"

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

/// Those of this process. For one thread.
class VectorRepeats {
 public:
  /// Makes a call like a known one, and returns its error code. Nullopt: it takes the long way, and
  /// nothing was done.
  template <class Arguments>
  static std::optional<int> run(const Arguments& arguments) {
    return is_on_ ? find_and_run(arguments) : std::nullopt;
  }
  /// The same of a call that is not blocking, and not part of a race; inside of weft.
  template <class Arguments>
  static std::optional<Outcome> attempt(const Arguments& arguments) {
    return is_on_ ? find_and_attempt(arguments) : std::nullopt;
  }
  /// To be called when weft has just served `call`, which has these arguments.
  static void keep(const VectorArguments& arguments, const Alltoallv& call);
  static void keep(const GatherArguments& arguments, const Allgather& call);
  static void keep(const RootedArguments& arguments, const Rooted& call);
  static void keep(const ReduceScatterArguments& arguments, const ReduceScatter& call);

  /// Between the beginning and the end of the world, where one thread makes all calls.
  static void turn_on();
  static void turn_off() noexcept;

 private:
  template <class Arguments>
  static std::optional<int> find_and_run(const Arguments& arguments);
  template <class Arguments>
  static std::optional<Outcome> find_and_attempt(const Arguments& arguments);

  static inline bool is_on_ = false;
};

/// Whether calls of the function MPI_Name may be such repeats.
template <Text name>
constexpr bool may_repeat_vector() {
  for (const std::string_view one :
       {"Alltoallv", "Allgatherv", "Gatherv", "Scatterv", "Reduce_scatter"}) {
    if (name.is(one)) return true;
  }
  return false;
}

/// The arguments of the function MPI_Name.
template <Text name, class... Given>
[[gnu::always_inline]] inline auto vector_arguments(Given... given) {
  if constexpr (name.is("Alltoallv")) {
    return VectorArguments{given...};
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

/// A call of the function MPI_Name like a known one; nullopt: it takes the long way.
template <Text name, class... Given>
[[gnu::always_inline]] inline std::optional<int> repeat_vector(Given... given) {
  if constexpr (may_repeat_vector<name>()) {
    return VectorRepeats::run(vector_arguments<name>(given...));
  } else {
    return std::nullopt;
  }
}

template <Text name, class Made, class... Given>
inline void keep_vector(const Made& call, Given... given) {
  if constexpr (may_repeat_vector<name>()) {
    VectorRepeats::keep(vector_arguments<name>(given...), call);
  }
}

}  // namespace weft::mpi
