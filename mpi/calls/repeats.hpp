// Repeats: blocking calls with the arguments of an earlier one, but for the buffers, which weft
// makes without working out again what they are. Reductions and allgathers may be in place.
//
// Most calls of a program come from few places, each with one communicator, count and datatype. Of
// a call that weft has served straight from and to the program's buffers the arguments are kept,
// with what was found out about them. As long as no communicator and no datatype has been freed
// since, and the communicator has forgotten nothing, a call with the same arguments takes what is
// kept. That is a rank's own affair: the others may make the same call in the long way. A few calls
// whose arguments have the same hash are kept side by side, those that were kept last.
//
// Calls that the host is to serve, as it has won their race or their size is put off, are kept,
// too, one for each hash: they go on to the host without a look at what they are.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "mpi/calls/call.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

/// The arguments of a call without its buffers. What a collective lacks stays as it is here.
struct Arguments {
  /// Both in one word, as all of this is compared in every call.
  struct What {
    std::uint64_t word = 0;
    constexpr What() = default;
    constexpr What(plan::Collective collective, int root = 0)  // NOLINT
        : word(std::uint64_t{static_cast<std::uint32_t>(root)} << 8 |
               static_cast<std::uint8_t>(collective)) {}
    constexpr plan::Collective collective() const {
      return static_cast<plan::Collective>(word & 0xff);
    }
    constexpr int root() const { return static_cast<int>(word >> 8); }
    bool operator==(const What&) const = default;
  };
  What what;
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
struct alignas(64) KnownCall {
  Arguments arguments;
  Attached* attached = nullptr;
  Race* race = nullptr;  // that they are part of, or one that never begins
  const Operation* operation = nullptr;
  Communicator::Made made;
  std::uint64_t comms = 0, types = 0;  // HandleCache::since()
  PassedCount* left = nullptr;         // of one that is left to the host: where it is counted
  std::uint64_t put_off = 0;           // likewise, as its size is put off: PutOff::number()
  bool is_timed = false;               // and its time added
  std::uint32_t recorded = 0;          // its kind in the recording, if there is one
  bool reads = false;                  // this rank: the first buffer
  bool writes = false;                 // the second one
  bool may_be_in_place = false;        // what it reads may be where it writes
  bool may_be_out_of_place = false;    // or elsewhere; in place nobody has looked at what is sent
  std::uint32_t own_offset = 0;        // of an allgather in place: where in what it writes

  /// Of one that was left to the host: whether the next one is, too.
  [[gnu::always_inline]] bool is_left() const noexcept {
    return put_off == 0 ? race->is_left() : attached->put_off.number() == put_off;
  }
  /// Whether these are buffers of the program, and two where the call takes two.
  [[gnu::always_inline]] bool takes(const BufferPair& buffers) const noexcept {
    const bool is_good = buffers.input != nullptr &&
                         (buffers.input == MPI_IN_PLACE ? may_be_in_place : may_be_out_of_place);
    if (reads && !is_good) return false;
    if (!writes) return true;
    return buffers.output != nullptr && buffers.output != MPI_IN_PLACE &&
           (!reads || buffers.input != buffers.output);
  }
};

/// Whether what is known of calls on a communicator still holds. `comms` and `types`: when it was
/// found out, as HandleCache::since(). Of a communicator that is freed since nothing is
/// looked at.
[[gnu::always_inline]] inline bool still_holds(plan::Collective collective,
                                               const Attached* attached, std::uint64_t comms,
                                               std::uint64_t types) noexcept {
  return HandleCache<MPI_Comm, Attached*>::holds(comms) &&
         HandleCache<MPI_Datatype, Layout>::holds(types) && attached->is_served(collective) &&
         !device_memory::watches.load(std::memory_order_relaxed);
}
/// And whether weft may make such a call of the program now.
[[gnu::always_inline]] inline bool may_repeat(plan::Collective collective, const Attached* attached,
                                              std::uint64_t comms, std::uint64_t types) noexcept {
  return still_holds(collective, attached, comms, types) && !Busy::is_any();
}
/// The same of a known call.
[[gnu::always_inline]] inline bool may_repeat(const KnownCall& known) noexcept {
  return may_repeat(known.arguments.what.collective(), known.attached, known.comms, known.types);
}

/// Those of this process. For one thread.
class Repeats {
 public:
  /// What is known of a call, where it can be made again now; null: it takes the long way. In each
  /// entry point, as it would take longer to hand the arguments over.
  [[gnu::always_inline]] static const KnownCall* find(const Arguments& arguments,
                                                      const BufferPair& buffers) noexcept {
    const KnownCall* const known = find_kept(arguments);
    return known != nullptr && may_run(*known, buffers) ? known : nullptr;
  }
  /// Makes the call that find() has found, and returns its error code. Where the communicator has
  /// forgotten it: kForgotten, and nothing was done.
  static int run(const KnownCall& known, const void* input, void* output) {
    return run_(known, input, output);
  }
  static constexpr int kForgotten = -1;  // no MPI has negative codes
  /// To be called when weft has just served `call`, which has these arguments.
  static void keep(const Arguments& arguments, const BufferPair& buffers, Call& call);

  /// A call like one that the host has served, which is to serve this one, too, and is counted;
  /// null: it takes the long way.
  [[gnu::always_inline]] static const KnownCall* leave(const Arguments& arguments,
                                                       const BufferPair& buffers) noexcept {
    const KnownCall& known = left_[set_of(arguments)];
    const bool is_left = known.arguments == arguments && may_repeat(known) && known.is_left() &&
                         known.takes(buffers);
    if (!is_left) return nullptr;
    known.race->count();
    known.left->calls.fetch_add(1, std::memory_order_relaxed);
    return &known;
  }
  /// To be called when `call`, which has these arguments, was left to the host.
  static void keep_left(const Arguments& arguments, const BufferPair& buffers, const Call& call);

  /// Of a call that is not blocking, and not part of a race: what belongs to its communicator,
  /// where the call can be made by attempt(), as far as is known now.
  static Attached* attached_of(const Arguments& arguments, const BufferPair& buffers) noexcept;
  /// Makes such a call, inside of weft. Nullopt: it takes the long way, and nothing was done.
  static std::optional<Outcome> attempt(const Arguments& arguments, const BufferPair& buffers);

  /// What is known of a call that weft has just served on what is `attached`. Nullopt: it is not to
  /// be repeated.
  static std::optional<KnownCall> know(const Arguments& arguments, const BufferPair& buffers,
                                       const Call& call, Attached& attached);
  /// As above, by what somebody else keeps, which stays as it is meanwhile.
  static std::optional<Outcome> attempt(const KnownCall& known, const BufferPair& buffers);

  /// Between the beginning and the end of the world, where one thread makes all calls.
  static void turn_on() noexcept;
  static void turn_off() noexcept;

 private:
  static constexpr int kBits = 6;
  static constexpr std::size_t kWays = 4;
  using Set = std::array<KnownCall, kWays>;
  static std::size_t set_of(const Arguments& arguments) noexcept {
    // A handle is an address in Open MPI, a number in MPICH.
    std::uint64_t number = 0;
    static_assert(sizeof(MPI_Comm) <= sizeof number);
    std::memcpy(&number, &arguments.comm, sizeof(MPI_Comm));
    number += static_cast<std::uint64_t>(arguments.count) * 64 + arguments.what.word;
    return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15u) >> (64 - kBits));
  }
  [[gnu::always_inline]] static const KnownCall* find_kept(const Arguments& arguments) noexcept {
    for (const KnownCall& known : known_[set_of(arguments)]) {
      if (known.arguments == arguments) return &known;
    }
    return nullptr;
  }
  [[gnu::always_inline]] static bool may_run(const KnownCall& known,
                                             const BufferPair& buffers) noexcept {
    return may_repeat(known) && known.race->is_quiet() && known.takes(buffers);
  }

  using Run = int(const KnownCall& known, const void* input, void* output);
  template <bool is_recorded>
  static int run_known(const KnownCall& known, const void* input, void* output);
  static Run* run_;  // what turn_on() has chosen: a call that is not recorded asks nothing

  static inline bool is_on_ = false;
  static inline std::array<Set, std::size_t{1} << kBits> known_ = {};
  static inline std::array<KnownCall, std::size_t{1} << kBits> left_ = {};
};

}  // namespace weft::mpi
