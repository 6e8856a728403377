// Repeats: blocking calls with the arguments of an earlier one, but for the buffers, which weft
// makes without working out again what they are.
//
// Most calls of a program come from few places, each with one communicator, count and datatype. Of
// a call that weft has served straight from and to the program's buffers the arguments are kept,
// with what was found out about them. As long as no communicator and no datatype has been freed
// since, and the communicator has forgotten nothing, a call with the same arguments takes what is
// kept. That is a rank's own affair: the others may make the same call in the long way.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "mpi/calls/call.hpp"

namespace weft::mpi {

/// The arguments of a call without its buffers. What a collective lacks stays as it is here.
struct Arguments {
  plan::Collective collective = plan::Collective::barrier;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype other_type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Count count = 0;
  MPI_Count other_count = 0;

  bool operator==(const Arguments&) const = default;
};

/// Its buffers; of a broadcast the same twice, of a barrier none.
struct BufferPair {
  const void* input = nullptr;
  void* output = nullptr;
};

/// What is known of the calls with some arguments.
struct KnownCall {
  Arguments arguments;
  Attached* attached = nullptr;  // null: nothing is known
  Race* race = nullptr;          // null: they are part of none
  const Operation* operation = nullptr;
  Communicator::Made made;
  std::uint64_t comms = 0, types = 0;  // HandleCache::generation_now()
};

/// Those of this process. For one thread.
class Repeats {
 public:
  /// The error code of the call, where it is a repeat; nullopt: nothing was done.
  static std::optional<int> run(const Arguments& arguments, const BufferPair& buffers) {
    const KnownCall& known = known_[place_of(arguments)];
    if (!is_on_ || !(known.arguments == arguments)) return std::nullopt;
    return run(known, buffers);
  }
  /// To be called when weft has just served `call`, which has these arguments.
  static void keep(const Arguments& arguments, const BufferPair& buffers, const Call& call);

  /// Between the beginning and the end of the world, where one thread makes all calls.
  static void turn_on() noexcept { is_on_ = true; }
  static void turn_off() noexcept;

 private:
  static constexpr int kBits = 4;

  static std::size_t place_of(const Arguments& arguments) noexcept {
    // A handle is an address in Open MPI, a number in MPICH.
    std::uint64_t number = 0;
    static_assert(sizeof arguments.comm <= sizeof number);
    std::memcpy(&number, &arguments.comm, sizeof arguments.comm);
    number += static_cast<std::uint64_t>(arguments.count) * 64 +
              static_cast<std::uint64_t>(arguments.collective);
    return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15u) >> (64 - kBits));
  }
  static bool may_run(const KnownCall& known, const BufferPair& buffers) noexcept;
  static std::optional<int> run(const KnownCall& known, const BufferPair& buffers);

  static inline bool is_on_ = false;
  static inline std::array<KnownCall, std::size_t{1} << kBits> known_ = {};
};

}  // namespace weft::mpi
