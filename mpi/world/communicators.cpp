#include "mpi/world/communicators.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>

#include "base/error.hpp"
#include "comm/bootstrap/agreement.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/host/handle_cache.hpp"
#include "mpi/world/group_bootstrap.hpp"
#include "mpi/world/world.hpp"

namespace weft::mpi {

namespace {

// How long MPI_Finalize waits for the ends of connections.
constexpr auto kGoodbye = std::chrono::seconds(2);

using Known = HandleCache<MPI_Comm, Attached*>;

/// Tells the other ranks, which go on, that this one gives up: their next agreement, which gathers
/// from all ranks as this does, ends in `why`.
void tell_failure(Bootstrap& bootstrap, const std::string& why) {
  comm::run_step([&bootstrap](std::string_view mine) { return bootstrap.allgather(mine); },
                 [&why]() -> std::string { throw Error(why); });
}

/// Mixes `value` into a context number (the finalizer of SplitMix64).
std::uint64_t mix(std::uint64_t context, std::uint64_t value) {
  std::uint64_t x = (context ^ value) + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint64_t mix_all(std::uint64_t context, std::span<const int> members) {
  for (const int member : members) context = mix(context, static_cast<unsigned>(member));
  return context;
}

// Kinds of children, so that their context numbers differ.
constexpr std::uint64_t kOfAll = 1, kOfGroup = 2, kMerged = 3;

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete (memory, std::align_val_t{64});
}

std::byte* Buffer::reserve(std::size_t bytes) {
  if (bytes > bytes_) {
    memory_.reset();
    bytes_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
    bytes_ = bytes;
  }
  return memory_.get();
}

void Buffer::release() noexcept {
  memory_.reset();
  bytes_ = 0;
}

Communicators::Communicators(World& world) : world_(world) {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Communicators::on_delete, &keyval_, this);
}

Communicators::~Communicators() {
  PMPI_Comm_free_keyval(&keyval_);
}

Attached* Communicators::of(MPI_Comm comm) {
  if (Attached* const* known = Known::find(comm)) return *known;
  const std::uint64_t asked_at = Known::generation_now();
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval_, &value, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) {
    Known::keep(comm, static_cast<Attached*>(value), asked_at);
    return static_cast<Attached*>(value);
  }
  std::unique_ptr<Attached> fresh = attach(comm);
  {
    const std::lock_guard lock(mutex_);
    live_.push_back(fresh.get());
  }
  PMPI_Comm_set_attr(comm, keyval_, fresh.get());
  return fresh.release();
}

int Communicators::on_delete(MPI_Comm, int, void* value, void* self) {
  const std::unique_ptr<Attached> attached(static_cast<Attached*>(value));
  static_cast<Communicators*>(self)->forget(attached.get());
  return MPI_SUCCESS;
}

void Communicators::forget(Attached* attached) {
  Known::forget_all();
  const std::lock_guard lock(mutex_);
  std::erase(live_, attached);
  end_retired();
  if (!attached->weft) return;
  world_.tally().add(attached->weft->statistics());
  retire(std::move(*attached->weft));
}

/// MPI_Comm_free waits for nobody: what other ranks have not ended yet is ended later.
void Communicators::retire(Communicator weft) {
  if (!weft.close()) retired_.push_back(std::move(weft));
}

void Communicators::end_retired() {
  std::erase_if(retired_, [](Communicator& weft) { return weft.close(); });
}

void Communicators::free_all() {
  std::vector<MPI_Comm> comms;
  {
    const std::lock_guard lock(mutex_);
    for (const Attached* attached : live_) comms.push_back(attached->comm);
  }
  world_.networks().prepare_to_end();
  for (const MPI_Comm comm : comms) PMPI_Comm_delete_attr(comm, keyval_);
  const auto deadline = std::chrono::steady_clock::now() + kGoodbye;
  while (!retired_.empty() && std::chrono::steady_clock::now() < deadline) {
    end_retired();
    ::sched_yield();
  }
}

std::unique_ptr<Attached> Communicators::attach(MPI_Comm comm) {
  auto attached = std::make_unique<Attached>();
  attached->comm = comm;
  PMPI_Comm_size(comm, &attached->size);
  PMPI_Comm_rank(comm, &attached->rank);
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (comm == MPI_COMM_WORLD) attached->context = 1;
  if (inter != 0 || attached->size == 1) {
    attached->state = Attached::State::passed_through;
    attached->why = inter != 0 ? Passed::intercommunicator : Passed::one_rank;
  } else {
    attached->take_over.emplace(TakeOver::Placement{attached->size, world_.machine().nodes(),
                                                    world_.most_ranks_on_a_core()});
  }
  return attached;
}

void Communicators::add_child(MPI_Comm parent, MPI_Comm child) {
  Attached* from = of(parent);
  if (from == nullptr || from->context == 0) return;
  ++from->children;
  if (child == MPI_COMM_NULL) return;
  if (Attached* made = of(child)) made->context = mix(mix(from->context, kOfAll), from->children);
}

void Communicators::add_child_of_group(MPI_Comm parent, MPI_Comm child, int tag) {
  Attached* from = of(parent);
  Attached* made = child == MPI_COMM_NULL ? nullptr : of(child);
  if (from == nullptr || from->context == 0 || made == nullptr) return;
  const std::uint64_t of_parent = mix(mix(from->context, kOfGroup), static_cast<unsigned>(tag));
  const std::uint64_t key = mix_all(of_parent, world_.members_of(child));
  made->context = mix(key, ++from->children_of_group[key]);
}

/// All ranks of the group merge into this group in one order, unless several threads do at once.
void Communicators::add_merged(MPI_Comm child) {
  Attached* made = of(child);
  if (made == nullptr) return;
  const std::uint64_t key = mix_all(kMerged, world_.members_of(child));
  const std::lock_guard lock(mutex_);
  made->context = mix(key, ++merged_[key]);
}

std::optional<Passed> Communicators::connect(Attached& attached, const SharedArguments& call) {
  using enum Attached::State;
  if (!world_.is_wanted_at_once(call.collective) && !attached.take_over->is_due()) {
    attached.take_over->count(call.collective, call.block_bytes);
    return Passed::few_calls;
  }
  attached.state = passed_through;
  attached.take_over.reset();
  const std::vector<int> members = world_.members_of(attached.comm);
  if (std::ranges::find(members, MPI_UNDEFINED) != members.end()) {
    attached.why = Passed::foreign_ranks;
  } else if (attached.context == 0) {
    attached.why = Passed::unknown_origin;
  } else {
    set_up(attached, members);
  }
  if (!attached.weft) return attached.why;
  attached.state = connected;
  return std::nullopt;
}

void Communicators::give_up(Attached& attached, std::string why) {
  world_.tally().add_note(std::move(why));
  world_.tally().add(attached.weft->statistics());
  attached.state = Attached::State::passed_through;
  attached.why = Passed::setup_failed;
  const std::lock_guard lock(mutex_);
  end_retired();
  retire(std::move(*attached.weft));
  attached.weft.reset();
}

/// Leaves the communicator without weft, with the reason, where any rank cannot have it.
void Communicators::set_up(Attached& attached, const std::vector<int>& members) {
  GroupBootstrap bootstrap(world_.post(), members, attached.context);
  std::string why;
  try {
    return open(attached, members);
  } catch (const UsageError& error) {
    end_job(error.what());
  } catch (const SetupError& error) {  // all ranks have it
    why = error.what();
  } catch (const std::exception& error) {
    why = fmt::format("rank {}: {}", attached.rank, error.what());
    tell_failure(bootstrap, error.what());
  }
  attached.weft.reset();
  attached.why = Passed::setup_failed;
  world_.tally().add_note(std::move(why));
}

void Communicators::open(Attached& attached, const std::vector<int>& members) {
  Options options;
  options.facts = world_.facts_of(members);
  options.network = std::make_shared<const engine::NetworkShare>(
      engine::NetworkShare{world_.networks().of(attached.context), members});
  attached.weft.emplace(std::make_unique<GroupBootstrap>(world_.post(), members, attached.context),
                        options);
}

}  // namespace weft::mpi
