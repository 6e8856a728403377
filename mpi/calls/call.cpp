#include "mpi/calls/call.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "mpi/calls/guarded.hpp"
#include "mpi/calls/passed.hpp"
#include "mpi/calls/signature.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/errors.hpp"

namespace weft::mpi {

namespace {

/// For notes.
std::string name_of_race(const Call& call, const Context& context) {
  const auto bytes = call.block_bytes(context);
  if (!bytes) return fmt::format("{} of {} ranks", call.name(), context.size());
  return fmt::format("{} of {} ranks, blocks of up to {} bytes", to_string(call.collective()),
                     context.size(), *bytes == 0 ? 0 : std::bit_ceil(*bytes + 1) - 1);
}

SharedArguments shared_of(const Call& call, const Context& context, bool is_blocking) {
  const plan::Collective collective = call.collective();
  // A persistent collective has one size, and no other calls to agree in.
  const bool at_once =
      context.attached.lineage.persistent != 0 || context.world.is_wanted_at_once(collective);
  // A nonblocking call is no meeting: the rank that others wait for there may come back to it late.
  return {.collective = collective,
          .block_bytes = call.block_bytes(context),
          .sent_bytes = call.sent_bytes(),
          .at_once = at_once,
          .may_agree = at_once || !may_be_left_early(collective),
          .sender = is_blocking ? call.sender() : std::nullopt};
}

/// Of a call that may be part of a race; `trial` begins where it is a trial.
Race::Server server_of(const Call& call, const Context& context, SharedArguments& shared,
                       Trial& trial) {
  Race* const race = race_of(call, context);
  if (race == nullptr) return Race::Server::weft;
  if (race->count()) {
    if (!context.world.communicators().may_agree(context.attached, shared)) {
      context.attached.put_off.add(*race, name_of_race(call, context));
      if (!call.sender()) race->put_off();
      context.attached.state = Attached::State::putting_off;
      return race->winner();
    }
    context.world.communicators().decide(context.attached, *race, name_of_race(call, context));
  }
  const Race::Server server = race->server();
  if (race->is_on()) trial = Trial(*race);
  return server;
}

/// Scope of a call that goes by stages.
class ByStages {
 public:
  ByStages(Communicator& weft, bool by_stages) : weft_(by_stages ? &weft : nullptr) {
    if (weft_ != nullptr) weft_->set_by_stages(true);
  }
  ByStages(const ByStages&) = delete;
  ByStages& operator=(const ByStages&) = delete;
  ~ByStages() {
    if (weft_ != nullptr) weft_->set_by_stages(false);
  }

 private:
  Communicator* weft_;
};

/// Scope of a call that does nothing where it would have to be prepared.
class IfPrepared {
 public:
  IfPrepared(Communicator& weft, Communicator::IfNew what) : weft_(weft) {
    weft_.if_next_is_new(what);
  }
  IfPrepared(const IfPrepared&) = delete;
  IfPrepared& operator=(const IfPrepared&) = delete;
  ~IfPrepared() { weft_.if_next_is_new(Communicator::IfNew::prepare); }

 private:
  Communicator& weft_;
};

/// False: nothing was done, as it has to be prepared.
bool run_if_prepared(Call& call, const Context& context, Communicator::IfNew what) {
  const IfPrepared scope(context.weft(), what);
  try {
    call.run(context);
    return true;
  } catch (const NotPrepared&) {
    return false;
  }
}

/// Makes up for what was put off; false: not yet.
bool catch_up(const Context& context, SharedArguments& shared) {
  Communicators& communicators = context.world.communicators();
  if (!communicators.may_agree(context.attached, shared)) return false;
  communicators.agree_on_put_off(context.attached);
  return true;
}

/// False: nothing was done, as the size is new and comes the first time, or is put off.
bool run_in_weft(Call& call, const Context& context, SharedArguments& shared, bool by_stages) {
  const ByStages way(context.weft(), by_stages);
  if (!shared.at_once) {
    using enum Communicator::IfNew;
    if (run_if_prepared(call, context, refuse)) return true;
    Attached& attached = context.attached;
    const CallSize size = size_of(call, context);
    if (!attached.new_sizes.has_come(size)) return false;
    if (!shared.may_agree && !catch_up(context, shared)) {
      if (run_if_prepared(call, context, put_off)) return true;
      attached.put_off.add(size);
      attached.state = Attached::State::putting_off;
      return false;
    }
  }
  call.run(context);
  return true;
}

/// Of a call that is not blocking.
bool is_left_in_flight(const Attached& attached, const SharedArguments& shared) {
  return !shared.at_once && attached.in_flight != nullptr && attached.in_flight->is_left() &&
         shared.block_bytes.value_or(UINT64_MAX) <= InFlight::kShortBytes;
}

/// Of a call in which ranks may not agree on how many are pending.
void put_off_if_due(Attached& attached) {
  if (!attached.in_flight->is_due()) return;
  attached.in_flight->put_off();
  attached.state = Attached::State::putting_off;
}

/// Decides whether short calls that are not blocking are left to the host, where that is due, or
/// puts it off.
void decide_in_flight(const Context& context, const SharedArguments& shared) {
  InFlight* const in_flight = context.attached.in_flight.get();
  if (in_flight == nullptr) return;
  if (in_flight->is_due() && shared.may_agree) {
    context.world.communicators().decide(context.attached, *in_flight);
  }
  put_off_if_due(context.attached);
}

/// How a call goes through the questions whether weft serves it. Ranks may go through them for the
/// same call in different modes, and all answers are alike.
enum class Mode : std::uint8_t {
  blocking,  // the host may serve it now, too; ranks may wait for one another
  pending,   // not blocking, and its turn has come; ranks may wait for one another
  unwaited   // not blocking, and just started: nothing that waits is done, and weft serves nothing
};

/// Why the host is to serve a call by what ranks have agreed on, after they agree on what is due.
/// Nothing: weft serves it; or, unwaited, ranks have to wait for one another to know.
std::optional<Passed> left_by_agreement(Call& call, const Context& context, SharedArguments& shared,
                                        Mode mode) {
  Attached& attached = context.attached;
  // First, so that on ranks where the call is pending and on others the same is known by then.
  if (mode == Mode::pending) decide_in_flight(context, shared);
  if (mode != Mode::blocking && is_left_in_flight(attached, shared)) return Passed::several_pending;
  if (attached.state != Attached::State::putting_off) return std::nullopt;
  if (mode == Mode::unwaited && shared.may_agree) return std::nullopt;
  if (catch_up(context, shared) || !attached.put_off.contains(size_of(call, context))) {
    return std::nullopt;
  }
  call.leave_to_host(Call::Left::put_off);
  return Passed::new_size;
}

/// Runs a call that weft may serve. The reason why the host is to.
std::optional<Passed> run(Call& call, const Context& context, SharedArguments& shared, Mode mode,
                          Outcome& result) {
  std::optional<Passed> passed;
  run_guarded(context.weft(), result, [&] {
    if (call.is_contradictory()) context.weft().fail(call.contradiction());
    passed = left_by_agreement(call, context, shared, mode);
    if (passed) return;
    Trial trial;
    const Race::Server server =
        mode == Mode::blocking ? server_of(call, context, shared, trial) : Race::Server::weft;
    if (server == Race::Server::host) {
      call.leave_to_host(std::move(trial));
      passed = Passed::raced;
      return;
    }
    if (context.world.checks_calls()) describe_for_check(call, context);
    const std::uint64_t before = context.weft().bytes_outside_heap();
    if (!run_in_weft(call, context, shared, server == Race::Server::stages)) {
      trial.call_off();
      passed = Passed::new_size;
      return;
    }
    if (trial.is_on() && context.weft().bytes_outside_heap() != before) trial.add_system_calls();
  });
  return passed;
}

/// Whether some calls of a communicator that are not blocking are the host's.
bool may_pass_unwaited(const Attached& attached) {
  using enum Attached::State;
  return attached.state == not_connected || attached.state == putting_off ||
         (attached.in_flight != nullptr && attached.in_flight->is_left());
}

/// The reason why the host is to serve the call. Nothing: weft has; or, unwaited, it is not known.
std::optional<Passed> try_to_run(Call& call, World& world, Attached& attached, Mode mode,
                                 Outcome& result) {
  if (world.disabled(call.collective())) return Passed::disabled;
  if (world.unusable()) return Passed::setup_failed;
  if (!attached.broken.empty()) {
    result.line = attached.broken;
    return std::nullopt;
  }
  const Context context{world, attached};
  if (attached.state == Attached::State::passed_through) {
    if (attached.why != Passed::one_rank || !call.copy_alone(context)) return attached.why;
    count_passed(call, world, attached, Passed::copied);
    return std::nullopt;
  }
  device_memory::look_for_drivers();
  if (const auto why = call.judge_once(context)) return why;
  SharedArguments shared = shared_of(call, context, mode == Mode::blocking);
  if (attached.state == Attached::State::not_connected) {
    try {
      const bool may_wait = mode != Mode::unwaited;
      if (const auto why = world.communicators().connect(attached, shared, may_wait)) return why;
      if (!may_wait) return std::nullopt;
      shared.at_once = true;  // its size has come often enough
    } catch (const PeerError& error) {
      result.line = error.what();
      return std::nullopt;
    }
  }
  if (mode == Mode::unwaited) {
    if (call.is_contradictory()) return std::nullopt;
    return left_by_agreement(call, context, shared, mode);
  }
  try {
    if (const auto why = run(call, context, shared, mode, result)) return why;
  } catch (const SetupError& error) {
    // On all ranks alike, and the program's buffers are as they were.
    world.communicators().give_up(attached, error.what());
    return attached.why;
  }
  attached.packed_input.release_if_large();
  attached.packed_output.release_if_large();
  return std::nullopt;
}

/// The same for a call that comes from the program itself.
std::optional<Passed> try_to_run(Call& call, World& world, Mode mode, Outcome& result) {
  if (Freeing::contains(call.comm())) return Passed::being_freed;
  Attached* attached = world.communicators().of(call.comm());
  if (attached == nullptr) return Passed::arguments;
  return try_to_run(call, world, *attached, mode, result);
}

}  // namespace

Race* race_of(const Call& call, const Context& context) {
  Races* const races = context.attached.races.get();
  if (races == nullptr || !races->may_race(call.collective()) || !call.is_exact()) return nullptr;
  if (const auto bytes = call.block_bytes(context)) return races->of(call.collective(), *bytes);
  const auto function = call.raced_function(context);
  return function ? &races->of_function(call.collective(), *function) : nullptr;
}

CallSize size_of(const Call& call, const Context& context) {
  return {call.collective(), call.root(), call.block_bytes(context)};
}

Outcome attempt(Call& call, World& world) {
  Outcome outcome;
  outcome.passed = try_to_run(call, world, Mode::pending, outcome);
  return outcome;
}

Outcome attempt(Call& call, World& world, Attached& own) {
  Outcome outcome;
  outcome.passed = try_to_run(call, world, own, Mode::pending, outcome);
  return outcome;
}

std::optional<Passed> passes_at_once(const Call& call, const World& world,
                                     const Attached& attached) {
  if (world.disabled(call.collective())) return Passed::disabled;
  if (world.unusable()) return Passed::setup_failed;
  if (Freeing::contains(call.comm())) return Passed::being_freed;
  if (attached.state == Attached::State::passed_through) return attached.why;
  return std::nullopt;
}

std::optional<Passed> passes_unwaited(Call& call, World& world, Attached& attached) {
  if (!may_pass_unwaited(attached)) return std::nullopt;
  Outcome none;
  return try_to_run(call, world, attached, Mode::unwaited, none);
}

void count_in_flight(Attached& attached, Passed why) {
  if (attached.in_flight == nullptr) return;
  attached.in_flight->count(0);
  // Others come to where that is looked at, if the call is pending there.
  if (why == Passed::new_size) put_off_if_due(attached);
}

std::string Call::contradiction() const {
  return fmt::format("{}: sends {} bytes to itself and receives {}", name_, own_sends_,
                     own_receives_);
}

int end_call(MPI_Comm comm, const Outcome& outcome) {
  if (outcome.line.empty() && outcome.code == MPI_SUCCESS) return MPI_SUCCESS;
  if (World::get()->host_facts() != nullptr) {
    return outcome.error_code();
  }
  if (!outcome.line.empty()) return raise_error(comm, outcome.line);
  PMPI_Comm_call_errhandler(comm, outcome.code);
  return outcome.code;
}

std::optional<int> try_run(Call& call) {
  World* world = World::get();
  if (world == nullptr || Inside::here() || call.comm() == MPI_COMM_NULL) return std::nullopt;
  Outcome outcome;
  {
    const Inside guard;
    outcome.passed = try_to_run(call, *world, Mode::blocking, outcome);
  }
  if (outcome.passed) {
    PassedCount& count = count_passed(call, *world, *outcome.passed);
    if (world->reports()) call.time_in(count);
    return std::nullopt;
  }
  return end_call(call.comm(), outcome);
}

std::optional<int> try_run(Call& call, Attached& attached) {
  World& world = *World::get();
  const Inside guard;
  Outcome outcome;
  if (const auto passed = try_to_run(call, world, attached, Mode::blocking, outcome)) {
    count_passed(call, world, attached, *passed);
    attached.trial = call.take_trial();
    return std::nullopt;
  }
  return end_call(attached.comm, outcome);
}

}  // namespace weft::mpi
