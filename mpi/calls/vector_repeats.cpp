#include "mpi/calls/vector_repeats.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "mpi/calls/guarded.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

namespace {

using Comms = HandleCache<MPI_Comm, Attached*>;
using Types = HandleCache<MPI_Datatype, Layout>;

std::array<const int*, 4> arrays_of(const VectorArguments& arguments) noexcept {
  return {arguments.send_counts, arguments.send_places, arguments.receive_counts,
          arguments.receive_places};
}

std::array<const int*, 2> arrays_of(const GatherArguments& arguments) noexcept {
  return {arguments.counts, arguments.places};
}

/// Where this rank has none of them: nothing.
std::array<const int*, 2> arrays_of(const RootedArguments& arguments) noexcept {
  return {arguments.counts, arguments.places};
}

std::array<const int*, 1> arrays_of(const ReduceScatterArguments& arguments) noexcept {
  return {arguments.counts};
}

/// Whether these are two buffers of the program.
bool has_two_buffers(const VectorArguments& arguments) noexcept {
  return arguments.input != nullptr && arguments.input != MPI_IN_PLACE &&
         arguments.output != nullptr && arguments.output != MPI_IN_PLACE &&
         arguments.input != arguments.output;
}

/// What is known of the calls with some arrays.
struct Known {
  Attached* attached = nullptr;        // null: nothing is known
  std::uint64_t comms = 0, types = 0;  // HandleCache::generation_now()
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
  comms = Comms::generation_now();
  types = Types::generation_now();
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

constexpr std::size_t kMostKnown = 4;
constexpr int kMostRanks = 1024;  // 48 bytes each of an alltoallv
// Calls of which so many were kept in a row, and none was found, are kept now and then only.
constexpr unsigned kMostInVain = 2 * kMostKnown;
constexpr unsigned kSeldom = 32;

/// The last calls of one kind.
template <class OfKind>
class LastKnown {
 public:
  /// Null where there is none with these arguments.
  template <class Arguments>
  const OfKind* find(const Arguments& arguments) noexcept {
    const std::size_t most = in_vain_ > kMostInVain ? 1 : kMostKnown;
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t number = (last_ + i) % kMostKnown;
      const OfKind& one = all_[number];
      // Of freed communicators nothing must be looked at.
      if (one.comms != Comms::generation_now() || !one.is_of(arguments)) continue;
      last_ = number;
      in_vain_ = 0;
      return &one;
    }
    return nullptr;
  }
  /// Whether the next one is to be kept.
  bool wants_more() noexcept {
    if (in_vain_ <= kMostInVain || in_vain_ % kSeldom == 0) return true;
    ++in_vain_;
    return false;
  }
  /// The place of the next one, of which nothing is known yet: that of the last one where it had
  /// the same arguments. Null: calls are being made by it.
  template <class Arguments>
  OfKind* next(const Arguments& arguments) noexcept {
    const OfKind& last = all_[last_];
    if (last.comms != Comms::generation_now() || !last.is_of(arguments)) {
      last_ = (last_ + 1) % kMostKnown;
    }
    ++in_vain_;
    OfKind& one = all_[last_];
    if (one.users != 0) return nullptr;
    one.attached = nullptr;
    return &one;
  }

 private:
  std::array<OfKind, kMostKnown> all_ = {};
  std::size_t last_ = 0;  // that was found or kept
  unsigned in_vain_ = 0;  // kept since one was found
};

struct AllKnown {
  LastKnown<KnownAlltoallv> alltoallvs;
  LastKnown<KnownAllgatherv> allgathervs;
  LastKnown<KnownRooted> rooted;
  LastKnown<KnownReduceScatter> reduce_scatters;
};
// From turn_on() to turn_off(), which owns it: nothing is left to the end of the process.
constinit AllKnown* all_known = nullptr;

/// Makes a call by what is known. Nullopt: on all ranks alike nothing was done.
template <class OfKind, class Arguments>
std::optional<Outcome> make(const OfKind& known, const Arguments& arguments) {
  struct Using {
    int& users;
    ~Using() { --users; }
  } in_use{++known.users};
  Attached& attached = *known.attached;
  Outcome outcome;
  bool is_served = true;
  const Inside guard;
  try {
    run_guarded(*attached.weft, outcome, [&] { is_served = known.make(arguments); });
  } catch (const SetupError& error) {
    World::get()->communicators().give_up(attached, error.what());
    return std::nullopt;
  }
  return is_served ? std::optional(std::move(outcome)) : std::nullopt;
}

/// Where a call is to be kept; null: it is not.
Attached* place_for(MPI_Comm comm) {
  World* const world = World::get();
  // Calls that are recorded or compared say what they are.
  if (world == nullptr || world->checks_calls() || Recorder::get() != nullptr) return nullptr;
  Attached* const attached = world->communicators().of(comm);
  const bool is_good = attached != nullptr && attached->state == Attached::State::connected &&
                       attached->size <= kMostRanks;
  return is_good ? attached : nullptr;
}

LastKnown<KnownAlltoallv>& last_like(const VectorArguments& /*arguments*/) noexcept {
  return all_known->alltoallvs;
}
LastKnown<KnownAllgatherv>& last_like(const GatherArguments& /*arguments*/) noexcept {
  return all_known->allgathervs;
}
LastKnown<KnownRooted>& last_like(const RootedArguments& /*arguments*/) noexcept {
  return all_known->rooted;
}
LastKnown<KnownReduceScatter>& last_like(const ReduceScatterArguments& /*arguments*/) noexcept {
  return all_known->reduce_scatters;
}

}  // namespace

/// A blocking call of the program.
template <class Arguments>
std::optional<int> VectorRepeats::find_and_run(const Arguments& arguments) {
  const auto* const known = last_like(arguments).find(arguments);
  if (known == nullptr || !may_repeat(known->attached, known->comms, known->types)) {
    return std::nullopt;
  }
  Race* const race = known->race();
  const bool may_run = known->attached->broken.empty() && (race == nullptr || race->is_quiet());
  if (!may_run || !known->takes(arguments)) return std::nullopt;
  const auto outcome = make(*known, arguments);
  if (!outcome) return std::nullopt;
  if (race != nullptr) race->count();
  return end_call(arguments.comm, *outcome);
}
template std::optional<int> VectorRepeats::find_and_run(const VectorArguments&);
template std::optional<int> VectorRepeats::find_and_run(const GatherArguments&);
template std::optional<int> VectorRepeats::find_and_run(const RootedArguments&);
template std::optional<int> VectorRepeats::find_and_run(const ReduceScatterArguments&);

/// One that goes on in the background, inside of weft and in no race.
template <class Arguments>
std::optional<Outcome> VectorRepeats::find_and_attempt(const Arguments& arguments) {
  const auto* const known = last_like(arguments).find(arguments);
  const bool may_run = known != nullptr &&
                       still_holds(known->attached, known->comms, known->types) &&
                       known->attached->broken.empty() && known->takes(arguments);
  return may_run ? make(*known, arguments) : std::nullopt;
}
template std::optional<Outcome> VectorRepeats::find_and_attempt(const VectorArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const GatherArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const RootedArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const ReduceScatterArguments&);

void VectorRepeats::keep(const VectorArguments& arguments, const Alltoallv& call) {
  if (!is_on_ || !all_known->alltoallvs.wants_more()) return;
  Attached* const attached = place_for(arguments.comm);
  if (attached == nullptr || !has_two_buffers(arguments)) return;
  const auto straight = call.straight();
  if (!straight) return;
  KnownAlltoallv* const next = all_known->alltoallvs.next(arguments);
  if (next == nullptr) return;
  KnownAlltoallv& known = *next;
  known.sends.assign(straight->sends.begin(), straight->sends.end());
  known.receives.assign(straight->receives.begin(), straight->receives.end());
  known.send_type = arguments.send_type;
  known.receive_type = arguments.receive_type;
  known.input_offset = straight->input_offset;
  known.output_offset = straight->output_offset;
  known.keep(arguments, *attached);
}

void VectorRepeats::keep(const GatherArguments& arguments, const Allgather& call) {
  if (!is_on_ || !all_known->allgathervs.wants_more()) return;
  Attached* const attached = place_for(arguments.comm);
  if (attached == nullptr) return;
  const auto straight = call.straight(attached->rank);
  const Communicator::Made made = attached->weft->last_made();
  if (!straight || made.call == nullptr) return;
  KnownAllgatherv* const next = all_known->allgathervs.next(arguments);
  if (next == nullptr) return;
  KnownAllgatherv& known = *next;
  known.is_in_place = arguments.input == MPI_IN_PLACE;
  known.count = arguments.count;
  known.send_type = arguments.send_type;
  known.receive_type = arguments.receive_type;
  known.of_race = race_of(call, {*World::get(), *attached});
  known.made = made;
  known.at = *straight;
  known.keep(arguments, *attached);
}

void VectorRepeats::keep(const RootedArguments& arguments, const Rooted& call) {
  if (!is_on_ || !all_known->rooted.wants_more()) return;
  Attached* const attached = place_for(arguments.comm);
  if (attached == nullptr) return;
  const auto straight = call.straight(*attached);
  const Communicator::Made made = attached->weft->last_made();
  if (!straight || made.call == nullptr) return;
  KnownRooted* const next = all_known->rooted.next(arguments);
  if (next == nullptr) return;
  KnownRooted& known = *next;
  known.collective = arguments.collective;
  known.root = arguments.root;
  known.count = arguments.count;
  known.own_type = arguments.own_type;
  known.all_type = arguments.all_type;
  known.made = made;
  known.at = *straight;
  RootedArguments mine = arguments;
  if (attached->rank != arguments.root) mine.counts = mine.places = nullptr;
  known.keep(mine, *attached);
}

void VectorRepeats::keep(const ReduceScatterArguments& arguments, const ReduceScatter& call) {
  if (!is_on_ || !all_known->reduce_scatters.wants_more()) return;
  Attached* const attached = place_for(arguments.comm);
  if (attached == nullptr) return;
  const Context context{*World::get(), *attached};
  const auto plain = call.plain(context);
  const Communicator::Made made = attached->weft->last_made();
  if (!plain || made.call == nullptr) return;
  KnownReduceScatter* const next = all_known->reduce_scatters.next(arguments);
  if (next == nullptr) return;
  KnownReduceScatter& known = *next;
  known.type = arguments.type;
  known.op = arguments.op;
  known.operation = plain->operation;
  known.of_race = race_of(call, context);
  known.made = made;
  known.keep(arguments, *attached);
}

void VectorRepeats::turn_on() {
  if (all_known == nullptr) all_known = new AllKnown;
  is_on_ = true;
}

void VectorRepeats::turn_off() noexcept {
  is_on_ = false;
  delete std::exchange(all_known, nullptr);
}

}  // namespace weft::mpi
