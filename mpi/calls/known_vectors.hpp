// Known calls with arrays: what VectorRepeats keep of a collective that takes counts for each rank.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/placed_blocks.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/calls/vector_arguments.hpp"
#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

template <class OfAlltoall>  // VectorArguments or TypedArguments
std::array<const int*, 4> arrays_of(const OfAlltoall& arguments) noexcept {
  return {arguments.send_counts, arguments.send_places, arguments.receive_counts,
          arguments.receive_places};
}

inline std::array<const int*, 2> arrays_of(const GatherArguments& arguments) noexcept {
  return {arguments.counts, arguments.places};
}

/// Where this rank has none of them: nothing.
inline std::array<const int*, 2> arrays_of(const RootedArguments& arguments) noexcept {
  return {arguments.counts, arguments.places};
}

inline std::array<const int*, 1> arrays_of(const ReduceScatterArguments& arguments) noexcept {
  return {arguments.counts};
}

/// Until when what is known of their datatypes holds, of those that count on this rank:
/// HandleCache::since().
template <class Arguments>
std::uint64_t types_since(const Arguments& arguments) noexcept {
  using OfTypes = HandleCache<MPI_Datatype, Layout>;
  const auto since = [](std::initializer_list<MPI_Datatype> types) {
    return OfTypes::since(types, MPI_DATATYPE_NULL);
  };
  if constexpr (requires { arguments.send_types; }) {
    return OfTypes::generation_now();
  } else if constexpr (requires { arguments.send_type; }) {
    const bool sends = arguments.input != MPI_IN_PLACE;
    return since({sends ? arguments.send_type : MPI_DATATYPE_NULL, arguments.receive_type});
  } else if constexpr (requires { arguments.own_type; }) {
    const bool is_root = arguments.counts != nullptr;
    return since({arguments.own_type, is_root ? arguments.all_type : MPI_DATATYPE_NULL});
  } else {
    return since({arguments.type});
  }
}

/// Whether these are two buffers of the program.
template <class OfAlltoall>
bool has_two_buffers(const OfAlltoall& arguments) noexcept {
  return arguments.input != nullptr && arguments.input != MPI_IN_PLACE &&
         arguments.output != nullptr && arguments.output != MPI_IN_PLACE &&
         arguments.input != arguments.output;
}

/// What is known of the calls with some arrays.
struct Known {
  Attached* attached = nullptr;        // null: nothing is known
  std::uint64_t comms = 0, types = 0;  // HandleCache::since()
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> numbers = {};  // of the arrays, in the order of the arguments
  mutable int users = 0;          // calls that are being made by it: it stays as it is

  template <class Arguments>
  bool has_arrays_of(const Arguments& arguments) const noexcept;
  /// After all else: from now on something is known.
  template <class Arguments>
  void keep(const Arguments& arguments, Attached& of);
};

template <class Arguments>
bool Known::has_arrays_of(const Arguments& arguments) const noexcept {
  const int* mine = numbers.data();
  const auto given = arrays_of(arguments);
  // Most other lists differ there already.
  if (given.front() == nullptr || *mine != *given.front()) return false;
  const auto ranks = static_cast<std::size_t>(attached->size);
  for (const int* const one : given) {
    if (one == nullptr || std::memcmp(mine, one, ranks * sizeof *mine) != 0) return false;
    mine += ranks;
  }
  return true;
}

template <class Arguments>
void Known::keep(const Arguments& arguments, Attached& of) {
  numbers.clear();
  for (const int* const given : arrays_of(arguments)) {
    if (given != nullptr) numbers.insert(numbers.end(), given, given + of.size);
  }
  comm = arguments.comm;
  comms = HandleCache<MPI_Comm, Attached*>::since({comm}, MPI_COMM_NULL);
  types = types_since(arguments);
  attached = &of;
}

// Of each kind: is_of(), whether a call has these arguments; takes(), whether it can be made by
// what is known, with its buffers; make(), which makes it, inside of weft, or says that the
// communicator has forgotten it; and race(), which it is part of, or null.

struct KnownAlltoallv : Known {
  MPI_Datatype send_type = MPI_DATATYPE_NULL, receive_type = MPI_DATATYPE_NULL;
  std::vector<Part> sends = {}, receives = {};
  std::ptrdiff_t input_offset = 0, output_offset = 0;  // of the parts' bytes in the buffers

  bool is_of(const VectorArguments& arguments) const noexcept {
    return comm == arguments.comm && send_type == arguments.send_type &&
           receive_type == arguments.receive_type && attached != nullptr &&
           has_arrays_of(arguments);
  }
  bool takes(const VectorArguments& arguments) const noexcept {
    return has_two_buffers(arguments) && attached->packs_irregular.pass_if_not_due();
  }
  bool make(const VectorArguments& arguments) const {
    attached->weft->alltoallv(static_cast<const std::byte*>(arguments.input) + input_offset, sends,
                              static_cast<std::byte*>(arguments.output) + output_offset, receives);
    return true;
  }
  Race* race() const noexcept { return nullptr; }
};

/// Where the blocks lie is known for the buffers of the last call.
struct KnownAlltoallw : Known {
  std::vector<MPI_Datatype> each_type;  // of what is sent, then of what is received
  mutable PlacedBlocks sends, receives;

  bool is_of(const TypedArguments& arguments) const noexcept {
    if (comm != arguments.comm || attached == nullptr || !has_arrays_of(arguments)) return false;
    const auto ranks = static_cast<std::ptrdiff_t>(attached->size);
    return arguments.send_types != nullptr && arguments.receive_types != nullptr &&
           std::equal(each_type.begin(), each_type.begin() + ranks, arguments.send_types) &&
           std::equal(each_type.begin() + ranks, each_type.end(), arguments.receive_types);
  }
  bool takes(const TypedArguments& arguments) const noexcept {
    // Calls under way use the places as they are.
    return has_two_buffers(arguments) &&
           (users == 0 || (sends.buffer == arguments.input && receives.buffer == arguments.output));
  }
  bool make(const TypedArguments& arguments) const {
    sends.move_to(static_cast<const std::byte*>(arguments.input));
    receives.move_to(static_cast<const std::byte*>(arguments.output));
    attached->weft->alltoallw(sends.sizes, receives.sizes, packer_of(sends, receives));
    return true;
  }
  Race* race() const noexcept { return nullptr; }
};

struct KnownAllgatherv : Known {
  MPI_Datatype send_type = MPI_DATATYPE_NULL, receive_type = MPI_DATATYPE_NULL;
  bool is_in_place = false;  // this rank's block, in all blocks
  int count = 0;             // else of it
  Race* of_race = nullptr;
  Communicator::Made made;
  Allgather::Straight at;

  bool is_of(const GatherArguments& arguments) const noexcept {
    if (comm != arguments.comm || receive_type != arguments.receive_type || attached == nullptr ||
        is_in_place != (arguments.input == MPI_IN_PLACE)) {
      return false;
    }
    const bool is_same_block =
        is_in_place || (count == arguments.count && send_type == arguments.send_type);
    return is_same_block && has_arrays_of(arguments);
  }
  bool takes(const GatherArguments& arguments) const noexcept {
    if (arguments.output == nullptr || arguments.output == MPI_IN_PLACE) return false;
    // A block that is sent from its place is a mistake, which the long way reports.
    return is_in_place || (arguments.input != nullptr && arguments.input != own_of(arguments));
  }
  bool make(const GatherArguments& arguments) const {
    return attached->weft->repeat(made, is_in_place ? own_of(arguments) : arguments.input,
                                  static_cast<std::byte*>(arguments.output) + at.all);
  }
  Race* race() const noexcept { return of_race; }

 private:
  const void* own_of(const GatherArguments& arguments) const noexcept {
    return static_cast<const std::byte*>(arguments.output) + at.own;
  }
};

struct KnownRooted : Known {
  plan::Collective collective = {};
  int root = 0;
  int count = 0;
  MPI_Datatype own_type = MPI_DATATYPE_NULL;
  MPI_Datatype all_type = MPI_DATATYPE_NULL;
  Communicator::Made made;
  Rooted::Straight at;

  bool is_root() const noexcept { return attached->rank == root; }
  bool is_of(const RootedArguments& arguments) const noexcept {
    if (comm != arguments.comm || collective != arguments.collective || root != arguments.root ||
        count != arguments.count || own_type != arguments.own_type || attached == nullptr) {
      return false;
    }
    return !is_root() || (all_type == arguments.all_type && has_arrays_of(arguments));
  }
  bool takes(const RootedArguments& arguments) const noexcept {
    if (arguments.own == nullptr || arguments.own == MPI_IN_PLACE) return false;
    if (!is_root()) return true;
    // A block that is where it is to go is a mistake, which the long way reports.
    return arguments.all != nullptr && arguments.all != MPI_IN_PLACE &&
           own_of(arguments) != bytes_of(arguments.all) + at.own_place;
  }
  bool make(const RootedArguments& arguments) const {
    std::byte* const all = is_root() ? bytes_of(arguments.all) + at.all : nullptr;
    Communicator& weft = *attached->weft;
    return collective == plan::Collective::gather ? weft.repeat(made, own_of(arguments), all)
                                                  : weft.repeat(made, all, own_of(arguments));
  }
  Race* race() const noexcept { return nullptr; }

 private:
  static std::byte* bytes_of(const void* buffer) noexcept {
    return static_cast<std::byte*>(const_cast<void*>(buffer));
  }
  std::byte* own_of(const RootedArguments& arguments) const noexcept {
    return bytes_of(arguments.own) + at.own;
  }
};

struct KnownReduceScatter : Known {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  const Operation* operation = nullptr;
  Race* of_race = nullptr;
  Communicator::Made made;

  bool is_of(const ReduceScatterArguments& arguments) const noexcept {
    return comm == arguments.comm && type == arguments.type && op == arguments.op &&
           attached != nullptr && has_arrays_of(arguments);
  }
  bool takes(const ReduceScatterArguments& arguments) const noexcept {
    return arguments.input != nullptr && arguments.output != nullptr &&
           arguments.output != MPI_IN_PLACE && arguments.input != arguments.output;
  }
  bool make(const ReduceScatterArguments& arguments) const {
    Communicator& weft = *attached->weft;
    return arguments.input == MPI_IN_PLACE
               ? weft.repeat_in_place(made, arguments.output, operation)
               : weft.repeat(made, arguments.input, arguments.output, operation);
  }
  Race* race() const noexcept { return of_race; }
};

}  // namespace weft::mpi
