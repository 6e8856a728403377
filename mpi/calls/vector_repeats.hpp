// Vector repeats: alltoallvs, alltoallws, allgathervs, gathervs, scattervs and reduce_scatters with
// the counts, places and datatypes of an earlier one, which weft makes without working out again
// where their blocks lie.
//
// Repeats (repeats.hpp) of calls whose arguments are arrays. Of the last few such calls that weft
// has served straight from and to the program's buffers the arrays are copied, with what follows
// from them: the parts of an alltoallv, where the blocks of an alltoallw lie, the call of weft that
// another one is. A call whose arrays have the same numbers takes these, under the same conditions
// as a repeat: that is a rank's own affair. What ranks ask one another now and then in alltoallvs,
// whether somebody packs, is counted here as in the long way, which makes the calls in which it is
// due.
#pragma once

#include <optional>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/calls/vector_arguments.hpp"

namespace weft::mpi {

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
  static void keep(const TypedArguments& arguments, Alltoallw& call);
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
inline void keep_vector(Made& call, Given... given) {
  if constexpr (may_repeat_vector<name>()) {
    VectorRepeats::keep(vector_arguments<name>(given...), call);
  }
}

}  // namespace weft::mpi
