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

/// Whether these are two buffers of the program.
bool has_two_buffers(const VectorArguments& arguments) noexcept {
  return arguments.input != nullptr && arguments.input != MPI_IN_PLACE &&
         arguments.output != nullptr && arguments.output != MPI_IN_PLACE &&
         arguments.input != arguments.output;
}

/// What is known of the calls with some arrays.
struct KnownVector {
  Attached* attached = nullptr;        // null: nothing is known
  std::uint64_t comms = 0, types = 0;  // HandleCache::generation_now()
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype send_type = MPI_DATATYPE_NULL, receive_type = MPI_DATATYPE_NULL;
  std::vector<int> numbers = {};  // the four arrays, in the order of the arguments
  std::vector<Part> sends = {}, receives = {};
  std::ptrdiff_t input_offset = 0, output_offset = 0;  // of the parts' bytes in the buffers

  bool is_of(const VectorArguments& arguments) const noexcept;
};

constexpr std::size_t kMostKnown = 4;
constexpr int kMostRanks = 1024;  // 48 bytes each
// Calls of which so many were kept in a row, and none was found, are kept now and then only.
constexpr unsigned kMostInVain = 2 * kMostKnown;
constexpr unsigned kSeldom = 32;

struct KnownVectors {
  std::array<KnownVector, kMostKnown> all = {};
  std::size_t last = 0;  // that was found or kept
  unsigned in_vain = 0;  // kept since one was found
};
// From turn_on() to turn_off(), which owns it: nothing is left to the end of the process.
constinit KnownVectors* known_vectors = nullptr;

bool KnownVector::is_of(const VectorArguments& arguments) const noexcept {
  if (comm != arguments.comm || send_type != arguments.send_type ||
      receive_type != arguments.receive_type || attached == nullptr) {
    return false;
  }
  const int* mine = numbers.data();
  // Most other lists differ there already.
  if (arguments.send_counts == nullptr || *mine != *arguments.send_counts) return false;
  const auto ranks = static_cast<std::size_t>(attached->size);
  for (const int* const given : arrays_of(arguments)) {
    if (given == nullptr || std::memcmp(mine, given, ranks * sizeof *mine) != 0) return false;
    mine += ranks;
  }
  return true;
}

std::optional<int> run_known(const KnownVector& known, const VectorArguments& arguments) {
  Attached& attached = *known.attached;
  const bool may_run = may_repeat(&attached, known.comms, known.types) && attached.broken.empty() &&
                       has_two_buffers(arguments);
  if (!may_run || !attached.packs_irregular.pass_if_not_due()) return std::nullopt;
  Outcome outcome;
  try {
    const Inside guard;
    run_guarded(*attached.weft, outcome, [&] {
      attached.weft->alltoallv(
          static_cast<const std::byte*>(arguments.input) + known.input_offset, known.sends,
          static_cast<std::byte*>(arguments.output) + known.output_offset, known.receives);
    });
  } catch (const SetupError& error) {
    // On all ranks alike, and the program's buffers are as they were: the host serves this call.
    const Inside guard;
    World::get()->communicators().give_up(attached, error.what());
    return std::nullopt;
  }
  return end_call(arguments.comm, outcome);
}

}  // namespace

std::optional<int> VectorRepeats::find_and_run(const VectorArguments& arguments) {
  KnownVectors& known = *known_vectors;
  const std::size_t most = known.in_vain > kMostInVain ? 1 : kMostKnown;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t number = (known.last + i) % kMostKnown;
    const KnownVector& one = known.all[number];
    // Of freed communicators nothing must be looked at.
    if (one.comms != Comms::generation_now() || !one.is_of(arguments)) continue;
    known.last = number;
    known.in_vain = 0;
    return run_known(one, arguments);
  }
  return std::nullopt;
}

void VectorRepeats::keep(const VectorArguments& arguments, const Alltoallv& call) {
  World* const world = World::get();
  // Calls that are recorded or compared say what they are.
  if (!is_on_ || world == nullptr || world->checks_calls() || Recorder::get() != nullptr) return;
  unsigned& in_vain = known_vectors->in_vain;
  if (in_vain > kMostInVain && in_vain % kSeldom != 0) {
    ++in_vain;
    return;
  }
  Attached* const attached = world->communicators().of(arguments.comm);
  if (attached == nullptr || attached->state != Attached::State::connected ||
      attached->size > kMostRanks || !has_two_buffers(arguments)) {
    return;
  }
  const auto straight = call.straight();
  if (!straight) return;
  ++in_vain;
  std::size_t& last = known_vectors->last;
  last = (last + 1) % kMostKnown;
  KnownVector& known = known_vectors->all[last];
  known.attached = nullptr;  // until all of it is there
  known.numbers.clear();
  for (const int* const given : arrays_of(arguments)) {
    known.numbers.insert(known.numbers.end(), given, given + attached->size);
  }
  known.sends.assign(straight->sends.begin(), straight->sends.end());
  known.receives.assign(straight->receives.begin(), straight->receives.end());
  known.input_offset = straight->input_offset;
  known.output_offset = straight->output_offset;
  known.comm = arguments.comm;
  known.send_type = arguments.send_type;
  known.receive_type = arguments.receive_type;
  known.comms = Comms::generation_now();
  known.types = Types::generation_now();
  known.attached = attached;
}

void VectorRepeats::turn_on() {
  if (known_vectors == nullptr) known_vectors = new KnownVectors;
  is_on_ = true;
}

void VectorRepeats::turn_off() noexcept {
  is_on_ = false;
  delete std::exchange(known_vectors, nullptr);
}

}  // namespace weft::mpi
