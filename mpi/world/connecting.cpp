// Connecting: when weft takes over a communicator, its set-up, and what its ranks agree on later.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/bootstrap/agreement.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/group_bootstrap.hpp"
#include "mpi/world/world.hpp"

namespace weft::mpi {

namespace {

// Of a root that waits for others in a meeting, about what a set-up takes: for the ranks of a core,
// which take turns, and for each message.
constexpr std::int64_t kPatienceOfCoreRank_ns = 500'000;
constexpr std::int64_t kPatienceOfRank_ns = 5'000;

/// The ranks of a group that share this process's node.
std::vector<int> neighbours_in(std::span<const int> members, World& world) {
  const hierarchy::Machine& machine = world.machine();
  const int node = machine.node_of(world.post().rank());
  std::vector<int> neighbours;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    if (machine.node_of(members[rank]) == node) neighbours.push_back(static_cast<int>(rank));
  }
  return neighbours;
}

/// Tells the other ranks, which go on, that this one gives up: their first agreement, in which each
/// rank gathers what those of its node have made (see comm::Resources), ends in `why`.
void tell_failure(Bootstrap& bootstrap, std::span<const int> neighbours, const std::string& why) {
  comm::gather_steps(bootstrap, neighbours,
                     comm::attempt([&why]() -> std::string { throw Error(why); }));
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string to_text(std::span<const std::uint64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::vector<std::uint64_t> numbers_of(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    at = std::from_chars(at, end, numbers.emplace_back()).ptr;
    if (at < end) ++at;  // a blank
  }
  return numbers;
}

std::string larger_each(std::string_view left, std::string_view right) {
  std::vector<std::uint64_t> largest = numbers_of(left);
  const std::vector<std::uint64_t> others = numbers_of(right);
  std::ranges::transform(largest, others, largest.begin(),
                         [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  return to_text(largest);
}

/// What `body` returns, in which the ranks of a communicator agree by messages of the host.
template <class Body>
auto by_messages(Attached& attached, Body body) {
  try {
    return body();
  } catch (const PeerError& error) {
    attached.broken = error.what();
    throw;
  } catch (const std::exception& error) {
    end_job(error.what());  // the host's messages fail
  }
}

/// Nothing: no calls are raced. Where ranks share cores, system calls read buffers of one host
/// only.
std::optional<Race::Clock> clock_of_races(const World& world) {
  using enum Race::Clock;
  const bool is_one_host = world.has_one_clock();
  if (world.most_ranks_on_a_core() == 1) return is_one_host ? common : own;
  return is_one_host ? std::optional(processor) : std::nullopt;
}

}  // namespace

std::optional<Passed> Communicators::connect(Attached& attached, SharedArguments& call,
                                             bool may_wait) {
  using enum Attached::State;
  if (!world_.is_wanted_at_once(call.collective)) {
    if (call.sent_bytes && !may_wait) return std::nullopt;  // ranks may tell each other how many
    if (!is_due(attached, call)) return Passed::few_calls;
  }
  if (!may_agree(attached, call)) return Passed::few_calls;
  if (!may_wait) return std::nullopt;
  attached.state = passed_through;
  attached.take_over.reset();
  const std::uint64_t begin = comm::Stopwatch::ticks();
  const std::vector<int> members = world_.members_of(attached.comm);
  if (std::ranges::find(members, MPI_UNDEFINED) != members.end()) {
    attached.why = Passed::foreign_ranks;
  } else if (number(attached, members)) {
    set_up(attached, members);
  } else {
    attached.why = Passed::unknown_origin;
  }
  world_.tally().add_setup_ticks(comm::Stopwatch::ticks() - begin);
  if (!attached.weft) return attached.why;
  attached.members = members;
  if (const auto clock = clock_of_races(world_)) {
    // Where a waiting rank of the host keeps its core, weft gains by waiting alone.
    const bool like_host = attached.weft->reads_by_system_calls() &&
                           (world_.most_ranks_on_a_core() == 1 || !kReceiveKeepsCore);
    attached.races = std::make_unique<Races>(world_.wanted_at_once(), *clock, like_host);
  }
  // Where a waiting rank of the host keeps its core, the host has no turn to win. Of a persistent
  // collective one call is pending at a time.
  const bool may_leave = world_.most_ranks_on_a_core() > 1 && !kReceiveKeepsCore &&
                         attached.lineage.persistent == 0 &&
                         world_.wanted_at_once() != plan::CollectiveSet::all();
  if (may_leave) attached.in_flight = std::make_unique<InFlight>();
  attached.state = connected;
  return std::nullopt;
}

bool Communicators::may_agree(Attached& attached, SharedArguments& call) {
  if (call.may_agree || !call.sender) return call.may_agree;
  const int sender = *std::exchange(call.sender, std::nullopt);
  if (!attached.meetings.is_due()) return false;
  const auto members = members_that_meet(attached);
  // Where these do not find one another there is nothing to agree on.
  if (!members) return call.may_agree = true;
  const int root = (*members)[static_cast<std::size_t>(sender)];
  const std::int64_t patience_ns =
      kPatienceOfCoreRank_ns * world_.most_ranks_on_a_core() + kPatienceOfRank_ns * attached.size;
  return call.may_agree = by_messages(attached, [&] {
           return attached.meetings.hold(world_.post(), *members, root, attached.lineage.context,
                                         patience_ns);
         });
}

void Communicators::agree_on_put_off(Attached& attached) {
  attached.state = Attached::State::connected;
  const std::vector<PutOff::Decision> decisions = attached.put_off.take();
  attached.weft->prepare_put_off();
  for (const PutOff::Decision& one : decisions) decide(attached, *one.race, one.what);
  if (attached.in_flight != nullptr && attached.in_flight->is_put_off()) {
    decide(attached, *attached.in_flight);
  }
}

/// Whether weft takes over at this call, which is counted.
bool Communicators::is_due(Attached& attached, const SharedArguments& call) {
  // The host would match it by the order of starts.
  if (attached.lineage.persistent != 0 && !kHasPersistentCalls) return true;
  TakeOver& rule = *attached.take_over;
  if (rule.is_due()) return true;
  if (!call.sent_bytes) {
    rule.count(call.collective, call.block_bytes);
    return false;
  }
  if (!rule.count_irregular(*call.sent_bytes)) return false;
  agree_on_bytes(attached);
  return rule.is_due();
}

void Communicators::agree_on_bytes(Attached& attached) {
  const auto members = members_that_meet(attached);
  if (!members) return;
  const std::string most = by_messages(attached, [&] {
    GroupBootstrap bootstrap(world_.post(), *members, attached.lineage.context);
    return bootstrap.combine(
        std::to_string(attached.take_over->sent_bytes()),
        [](std::string_view left, std::string_view right) {
          return std::string(number_of(left) < number_of(right) ? right : left);
        });
  });
  attached.take_over->learn(number_of(most));
}

/// The ranks of a communicator, as ranks of the world; nothing where they cannot send one another
/// messages of weft's.
std::optional<std::vector<int>> Communicators::members_that_meet(Attached& attached) {
  std::vector<int> members =
      attached.members.empty() ? world_.members_of(attached.comm) : attached.members;
  const bool are_known = std::ranges::find(members, MPI_UNDEFINED) == members.end();
  if (!are_known || !number(attached, members)) return std::nullopt;
  return members;
}

void Communicators::decide(Attached& attached, Race& race, const std::string& what) {
  GroupBootstrap bootstrap(world_.post(), attached.members, attached.lineage.context);
  const std::string largest = bootstrap.combine(to_text(race.figures()), larger_each);
  const Race::Server before = race.winner();
  race.learn(numbers_of(largest));
  if (race.winner() == before || race.winner() == Race::Server::weft) return;
  world_.tally().add_note(fmt::format(
      "{}: {}", what,
      race.winner() == Race::Server::host
          ? "left to the host MPI, which takes less time"
          : "copied through stages, as to read neighbours' buffers by system calls takes longer"));
}

void Communicators::decide(Attached& attached, InFlight& in_flight) {
  GroupBootstrap bootstrap(world_.post(), attached.members, attached.lineage.context);
  const std::uint64_t mine = in_flight.behind_several();
  in_flight.learn(numbers_of(bootstrap.combine(to_text(std::span(&mine, 1)), larger_each)).front());
}

/// Leaves the communicator without weft, with the reason, where any rank cannot have it.
void Communicators::set_up(Attached& attached, const std::vector<int>& members) {
  GroupBootstrap bootstrap(world_.post(), members, attached.lineage.context);
  std::string why;
  try {
    return open(attached, members);
  } catch (const UsageError& error) {
    end_job(error.what());
  } catch (const SetupError& error) {  // all ranks have it
    why = error.what();
  } catch (const PeerError& error) {  // a rank is lost, and with it this communicator
    attached.weft.reset();
    attached.broken = error.what();
    throw;
  } catch (const std::exception& error) {
    why = fmt::format("rank {}: {}", attached.rank, error.what());
    tell_failure(bootstrap, neighbours_in(members, world_), error.what());
  }
  attached.weft.reset();
  attached.why = Passed::setup_failed;
  world_.tally().add_note(std::move(why));
}

void Communicators::open(Attached& attached, const std::vector<int>& members) {
  Options options;
  // A persistent collective has a communicator of its own, and there may be hundreds of them.
  const bool is_world = attached.comm == MPI_COMM_WORLD && attached.lineage.persistent == 0;
  options.facts = world_.facts_of(members, is_world);
  options.network = std::make_shared<const engine::NetworkShare>(
      engine::NetworkShare{world_.networks().of(attached.lineage.context), members});
  attached.weft.emplace(
      std::make_unique<GroupBootstrap>(world_.post(), members, attached.lineage.context), options);
}

}  // namespace weft::mpi
