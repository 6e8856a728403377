#include "mpi/calls/repeats.hpp"

#include <algorithm>

#include "base/ticks.hpp"
#include "mpi/calls/guarded.hpp"
#include "mpi/calls/passed.hpp"
#include "mpi/calls/recorded.hpp"

namespace weft::mpi {

namespace {

using enum plan::Collective;

bool reads_input(const Arguments::What& what, int rank) noexcept {
  if (what.collective() == barrier) return false;
  return what.collective() != scatter || rank == what.root();
}

bool writes_output(const Arguments::What& what, int rank) noexcept {
  if (what.collective() == barrier || what.collective() == broadcast) return false;
  const bool is_to_root = what.collective() == reduce || what.collective() == gather;
  return !is_to_root || rank == what.root();
}

/// For calls of no race.
Race& no_race() {
  static auto& race = *new Race(Race::of_nothing());  // programs end in any order
  return race;
}

/// Until when what is known of a call's datatypes holds, of those that count on this rank.
std::uint64_t types_since(const Arguments& arguments, const BufferPair& buffers, int rank) {
  using OfTypes = HandleCache<MPI_Datatype, Layout>;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  if (arguments.other_type == none) return OfTypes::since({arguments.type}, none);
  const bool sends = reads_input(arguments.what, rank) && buffers.input != MPI_IN_PLACE;
  const bool receives = writes_output(arguments.what, rank) && buffers.output != MPI_IN_PLACE;
  return OfTypes::since({sends ? arguments.type : none, receives ? arguments.other_type : none},
                        none);
}

/// What holds for a call whoever serves it.
KnownCall known_now(const Arguments& arguments, const BufferPair& buffers, Attached& attached,
                    Race* race) {
  return {.arguments = arguments,
          .attached = &attached,
          .race = race == nullptr ? &no_race() : race,
          .made = {},
          .comms = HandleCache<MPI_Comm, Attached*>::since({arguments.comm}, MPI_COMM_NULL),
          .types = types_since(arguments, buffers, attached.rank),
          .reads = reads_input(arguments.what, attached.rank),
          .writes = writes_output(arguments.what, attached.rank)};
}

[[gnu::always_inline]] inline bool make(const KnownCall& known, const void* input, void* output) {
  Communicator& weft = *known.attached->weft;
  if (known.may_be_in_place && input == MPI_IN_PLACE) {
    if (known.operation != nullptr)
      return weft.repeat_in_place(known.made, output, known.operation);
    input = static_cast<const std::byte*>(output) + known.own_offset;
  }
  return weft.repeat(known.made, input, output, known.operation);
}

/// Apart, with all that an error needs: in a handler of the exception.
int end_failed(const KnownCall& known) {
  Outcome outcome;
  {
    const Inside guard;
    run_guarded(*known.attached->weft, outcome, [] { throw; });
  }
  return end_call(known.arguments.comm, outcome);
}

}  // namespace

template <bool is_recorded>
int Repeats::run_known(const KnownCall& known, const void* input, void* output) {
  [[maybe_unused]] const std::uint64_t begin = is_recorded ? ticks() : 0;
  try {
    const Inside guard;
    if (make(known, input, output)) [[likely]] {
      known.race->count();
      if constexpr (is_recorded) Recorder::get()->add(known.recorded, begin, ticks());
      return MPI_SUCCESS;
    }
  } catch (...) {
    return end_failed(known);
  }
  return kForgotten;
}

constinit Repeats::Run* Repeats::run_ = &Repeats::run_known<false>;

void Repeats::turn_on() noexcept {
  run_ = Recorder::get() == nullptr ? &run_known<false> : &run_known<true>;
  is_on_ = true;
}

Attached* Repeats::attached_of(const Arguments& arguments, const BufferPair& buffers) noexcept {
  const KnownCall* const known = find_kept(arguments);
  const bool may_run =
      known != nullptr && Recorder::get() == nullptr && known->takes(buffers) && may_repeat(*known);
  return may_run ? known->attached : nullptr;
}

std::optional<Outcome> Repeats::attempt(const Arguments& arguments, const BufferPair& buffers) {
  const KnownCall* const known = find_kept(arguments);
  if (known == nullptr) return std::nullopt;
  return attempt(KnownCall(*known), buffers);  // others may take its place while this one waits
}

std::optional<Outcome> Repeats::attempt(const KnownCall& known, const BufferPair& buffers) {
  const bool may_run =
      Recorder::get() == nullptr && known.takes(buffers) &&
      still_holds(known.arguments.what.collective(), known.attached, known.comms, known.types) &&
      known.attached->broken.empty();
  if (!may_run) return std::nullopt;
  Outcome outcome;
  bool is_served = true;
  run_guarded(*known.attached->weft, outcome,
              [&] { is_served = make(known, buffers.input, buffers.output); });
  return is_served ? std::optional(std::move(outcome)) : std::nullopt;
}

std::optional<KnownCall> Repeats::know(const Arguments& arguments, const BufferPair& buffers,
                                       const Call& call, Attached& attached) {
  World* const world = World::get();
  if (!is_on_ || world == nullptr || !attached.is_served(call.collective())) return std::nullopt;
  const Context context{*world, attached};
  const auto plain = call.plain(context);
  if (!plain) return std::nullopt;
  KnownCall known = known_now(arguments, buffers, attached, race_of(call, context));
  known.operation = plain->operation;
  known.made = attached.weft->last_made();
  known.may_be_in_place =
      known.writes && (known.operation != nullptr || arguments.what == allgather);
  known.may_be_out_of_place = known.operation != nullptr || buffers.input != MPI_IN_PLACE;
  known.own_offset = static_cast<std::uint32_t>(plain->own_offset);
  if (known.made.call == nullptr || known.types == HandleCache<MPI_Datatype, Layout>::kNever ||
      !known.takes(buffers))
    return std::nullopt;
  return known;
}

void Repeats::keep(const Arguments& arguments, const BufferPair& buffers, Call& call) {
  World* const world = World::get();
  if (world == nullptr) return;
  Attached* const attached = world->communicators().of(arguments.comm);
  if (attached == nullptr) return;
  std::optional<KnownCall> known = know(arguments, buffers, call, *attached);
  if (!known) return;
  if (Recorder* const recorder = Recorder::get()) {
    const Inside guard;
    known->recorded = recorded_kind(*recorder, call, *attached, false, true);
  }
  Set& set = known_[set_of(arguments)];
  const auto same = std::ranges::find(set, arguments, &KnownCall::arguments);
  const auto place = same == set.end() ? set.end() - 1 : same;
  std::move_backward(set.begin(), place, place + 1);
  set.front() = *known;
}

void Repeats::keep_left(const Arguments& arguments, const BufferPair& buffers, const Call& call) {
  World* const world = World::get();
  // Calls that are recorded say what they are.
  const bool is_left = call.left() != Call::Left::no && is_on_ && world != nullptr;
  if (!is_left || Recorder::get() != nullptr) return;
  Attached* const attached = world->communicators().of(arguments.comm);
  if (attached == nullptr) return;
  const bool is_put_off = call.left() == Call::Left::put_off;
  Race* const race = is_put_off ? nullptr : race_of(call, {*world, *attached});
  if (!is_put_off && (race == nullptr || !race->is_left())) return;
  KnownCall known = known_now(arguments, buffers, *attached, race);
  known.may_be_out_of_place = true;
  known.put_off = is_put_off ? attached->put_off.number() : 0;
  known.left =
      &passed_count_of(call, *world, *attached, is_put_off ? Passed::new_size : Passed::raced);
  known.is_timed = call.passed_count() != nullptr;
  if (known.types != HandleCache<MPI_Datatype, Layout>::kNever && known.takes(buffers))
    left_[set_of(arguments)] = known;
}

void Repeats::turn_off() noexcept {
  is_on_ = false;
  run_ = &run_known<false>;
  known_ = {};
  left_ = {};
}

}  // namespace weft::mpi
