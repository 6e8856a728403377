#include "mpi/calls/vector_repeats.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "mpi/calls/guarded.hpp"
#include "mpi/calls/known_vectors.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

namespace {

constexpr std::size_t kMostKnown = 16;
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
      if (!HandleCache<MPI_Comm, Attached*>::holds(one.comms) || !one.is_of(arguments)) continue;
      last_ = number;
      in_vain_ -= std::min<unsigned>(in_vain_, kMostKnown);
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
    if (!HandleCache<MPI_Comm, Attached*>::holds(last.comms) || !last.is_of(arguments)) {
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
  LastKnown<KnownAlltoallw> alltoallws;
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

plan::Collective collective_of(const RootedArguments& arguments) noexcept {
  return arguments.collective;
}
/// Of all others: one in which all ranks wait.
template <class Arguments>
plan::Collective collective_of(const Arguments& /*arguments*/) noexcept {
  return plan::Collective::alltoallv;
}

/// Where a call is to be kept; null: it is not.
template <class Arguments>
Attached* place_for(const Arguments& arguments) {
  World* const world = World::get();
  // Calls that are recorded or compared say what they are.
  if (world == nullptr || world->checks_calls() || Recorder::get() != nullptr) return nullptr;
  Attached* const attached = world->communicators().of(arguments.comm);
  const bool is_good = attached != nullptr && attached->is_served(collective_of(arguments)) &&
                       attached->size <= kMostRanks;
  return is_good ? attached : nullptr;
}

LastKnown<KnownAlltoallv>& last_like(const VectorArguments& /*arguments*/) noexcept {
  return all_known->alltoallvs;
}
LastKnown<KnownAlltoallw>& last_like(const TypedArguments& /*arguments*/) noexcept {
  return all_known->alltoallws;
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
  if (known == nullptr ||
      !may_repeat(collective_of(arguments), known->attached, known->comms, known->types)) {
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
template std::optional<int> VectorRepeats::find_and_run(const TypedArguments&);
template std::optional<int> VectorRepeats::find_and_run(const GatherArguments&);
template std::optional<int> VectorRepeats::find_and_run(const RootedArguments&);
template std::optional<int> VectorRepeats::find_and_run(const ReduceScatterArguments&);

/// One that goes on in the background, inside of weft and in no race.
template <class Arguments>
std::optional<Outcome> VectorRepeats::find_and_attempt(const Arguments& arguments) {
  const auto* const known = last_like(arguments).find(arguments);
  const bool may_run =
      known != nullptr &&
      still_holds(collective_of(arguments), known->attached, known->comms, known->types) &&
      known->attached->broken.empty() && known->takes(arguments);
  return may_run ? make(*known, arguments) : std::nullopt;
}
template std::optional<Outcome> VectorRepeats::find_and_attempt(const VectorArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const TypedArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const GatherArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const RootedArguments&);
template std::optional<Outcome> VectorRepeats::find_and_attempt(const ReduceScatterArguments&);

void VectorRepeats::keep(const VectorArguments& arguments, const Alltoallv& call) {
  if (!is_on_ || !all_known->alltoallvs.wants_more()) return;
  Attached* const attached = place_for(arguments);
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

void VectorRepeats::keep(const TypedArguments& arguments, Alltoallw& call) {
  if (!is_on_ || !all_known->alltoallws.wants_more()) return;
  Attached* const attached = place_for(arguments);
  if (attached == nullptr || !has_two_buffers(arguments)) return;
  auto placed = call.take_placed();
  if (!placed) return;
  KnownAlltoallw* const next = all_known->alltoallws.next(arguments);
  if (next == nullptr) return;
  KnownAlltoallw& known = *next;
  known.sends = std::move(placed->sends);
  known.receives = std::move(placed->receives);
  const int ranks = attached->size;
  known.each_type.assign(arguments.send_types, arguments.send_types + ranks);
  known.each_type.insert(known.each_type.end(), arguments.receive_types,
                         arguments.receive_types + ranks);
  known.keep(arguments, *attached);
}

void VectorRepeats::keep(const GatherArguments& arguments, const Allgather& call) {
  if (!is_on_ || !all_known->allgathervs.wants_more()) return;
  Attached* const attached = place_for(arguments);
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
  Attached* const attached = place_for(arguments);
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
  Attached* const attached = place_for(arguments);
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
