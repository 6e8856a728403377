#include "mpi/calls/repeats.hpp"

#include "mpi/calls/guarded.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

namespace {

using Comms = HandleCache<MPI_Comm, Attached*>;
using Types = HandleCache<MPI_Datatype, Layout>;

/// Whether these are buffers of the program, and two where the call takes two.
bool are_plain(const Arguments& arguments, const BufferPair& buffers) noexcept {
  using enum plan::Collective;
  if (arguments.collective == barrier) return true;
  if (buffers.input == nullptr || buffers.input == MPI_IN_PLACE) return false;
  if (arguments.collective == broadcast) return true;
  return buffers.output != nullptr && buffers.output != MPI_IN_PLACE &&
         buffers.input != buffers.output;
}

}  // namespace

bool Repeats::may_run(const KnownCall& known, const BufferPair& buffers) noexcept {
  return known.attached != nullptr && known.comms == Comms::generation_now() &&
         known.types == Types::generation_now() &&
         known.attached->state == Attached::State::connected &&
         (known.race == nullptr || known.race->is_quiet()) && are_plain(known.arguments, buffers) &&
         device_memory::drivers.load(std::memory_order_relaxed) == nullptr &&
         !device_memory::watches.load(std::memory_order_relaxed) && !Inside::here() &&
         !Freeing::contains(known.arguments.comm);
}

std::optional<int> Repeats::run(const KnownCall& known, const BufferPair& buffers) {
  if (!may_run(known, buffers)) return std::nullopt;
  const MPI_Comm comm = known.arguments.comm;
  Outcome outcome;
  bool is_repeated = false;
  {
    const Inside guard;
    run_guarded(*known.attached->weft, outcome, [&] {
      is_repeated =
          known.attached->weft->repeat(known.made, buffers.input, buffers.output, known.operation);
    });
  }
  if (!is_repeated && outcome.line.empty() && outcome.code == MPI_SUCCESS) return std::nullopt;
  if (known.race != nullptr) known.race->count();
  return end_call(comm, outcome);
}

void Repeats::keep(const Arguments& arguments, const BufferPair& buffers, const Call& call) {
  World* const world = World::get();
  if (!is_on_ || world == nullptr || !are_plain(arguments, buffers)) return;
  Attached* const attached = world->communicators().of(arguments.comm);
  if (attached == nullptr || attached->state != Attached::State::connected) return;
  const Context context{*world, *attached};
  const auto plain = call.plain(context);
  const Communicator::Made made = attached->weft->last_made();
  if (!plain || made.call == nullptr) return;
  known_[place_of(arguments)] = {arguments,
                                 attached,
                                 race_of(call, context),
                                 plain->operation,
                                 made,
                                 Comms::generation_now(),
                                 Types::generation_now()};
}

void Repeats::turn_off() noexcept {
  is_on_ = false;
  known_ = {};
}

}  // namespace weft::mpi
