#include "mpi/calls/recorded.hpp"

#include "mpi/host/handle_cache.hpp"
#include "mpi/world/recorded_communicator.hpp"

namespace weft::mpi {

namespace {

using Comms = HandleCache<MPI_Comm, Attached*>;
using Types = HandleCache<MPI_Datatype, Layout>;

/// The kinds of the last calls with these arguments, as Repeats keeps what it knows. For one
/// thread.
struct KnownKind {
  Arguments arguments;
  std::uint64_t comms = 0, types = 0;
  std::uint32_t kind = Recorder::kUnknown;
  bool is_served = false;
};
constexpr int kBits = 6;
std::array<KnownKind, std::size_t{1} << kBits> known_kinds = {};

KnownKind& place_of(const Arguments& arguments) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, &arguments.comm, sizeof(MPI_Comm));
  number += static_cast<std::uint64_t>(arguments.count) * 64 + arguments.what.word;
  return known_kinds[(number * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
}

bool is_known(const KnownKind& known, const Arguments& arguments, bool is_served) noexcept {
  return known.arguments == arguments && known.is_served == is_served &&
         Comms::holds(known.comms) && Types::holds(known.types);
}

}  // namespace

std::uint32_t recorded_kind(Recorder& recorder, Call& call, Attached& attached, bool request,
                            bool served) {
  const World& world = *World::get();
  const auto communicator = recorded_communicator(recorder, world, attached);
  if (!communicator) return Recorder::kUnknown;
  RecordedKind kind{.communicator = *communicator,
                    .collective = call.collective(),
                    .request = request,
                    .served = served};
  const bool is_inter = attached.state == Attached::State::passed_through &&
                        attached.why == Passed::intercommunicator;
  // Arrays of arguments are as long as the other group is large, which nobody here looks at.
  // A call of one rank may be over, by a copy before anybody judged it.
  if (is_inter || attached.size == 1) return recorder.number_of(kind);
  const Context context{world, attached};
  const auto why = call.judge_once(context);
  if (why == Passed::no_bytes) {
    kind.sized = true;
  } else if (!why) {
    const auto bytes = call.block_bytes(context);
    kind.sized = true;
    call.describe(kind, context);
    if (bytes && !kind.irregular) kind.bytes = *bytes;
  }
  InRecording& recording = attached.recording();
  if (!recording.last_number || recording.last_kind != kind) {
    recording.last_kind = kind;
    recording.last_number = recorder.number_of(kind);
  }
  return *recording.last_number;
}

void record_start_in_host(Call& call, bool request) {
  Recorder* const recorder = Recorder::get();
  if (recorder == nullptr || Freeing::contains(call.comm())) return;
  const std::uint64_t now = ticks();
  const Inside guard;
  Attached* const attached = World::get()->communicators().of(call.comm());
  if (attached == nullptr) return;
  recorder->add(recorded_kind(*recorder, call, *attached, request, false), now, now);
}

std::uint32_t Recorded::kind(Recorder& recorder, Attached* attached) {
  const bool may_be_known = is_described_ && recorder.is_for_one_thread();
  KnownKind& known = place_of(arguments_);
  if (may_be_known && is_known(known, arguments_, is_served_)) return known.kind;
  if (Freeing::contains(call_->comm())) return Recorder::kUnknown;
  const Inside guard;
  if (attached == nullptr) attached = World::get()->communicators().of(call_->comm());
  if (attached == nullptr) return Recorder::kUnknown;
  const std::uint32_t found = recorded_kind(recorder, *call_, *attached, false, is_served_);
  if (may_be_known) {
    known = {arguments_, Comms::since({arguments_.comm}, MPI_COMM_NULL),
             Types::since({arguments_.type, arguments_.other_type}, MPI_DATATYPE_NULL), found,
             is_served_};
  }
  return found;
}

void Recorded::add() {
  const std::uint64_t end = ticks();
  Recorder* const recorder = Recorder::get();
  if (recorder == nullptr || World::get() == nullptr) return;
  recorder->add(kind(*recorder, nullptr), begin_, end);
}

void Recorded::leave_to_host(Attached* attached) {
  Recorder* const recorder = Recorder::get();
  if (call_ == nullptr || attached == nullptr || recorder == nullptr) {
    call_ = nullptr;
    return;
  }
  // Of the calls that the host makes to serve one of the program's only that one counts.
  InRecording::InHostNow& in_host = attached->recording().in_host;
  if (in_host.depth++ == 0) {
    in_host.kind = kind(*recorder, attached);
    in_host.begin = begin_;
  }
  call_ = nullptr;
}

void Recorded::end_in_host(Attached& attached) noexcept {
  if (attached.in_recording == nullptr) return;
  InRecording::InHostNow& in_host = attached.in_recording->in_host;
  if (in_host.depth == 0 || --in_host.depth != 0) return;
  Recorder* const recorder = Recorder::get();
  if (recorder != nullptr) recorder->add(in_host.kind, in_host.begin, ticks());
}

}  // namespace weft::mpi
