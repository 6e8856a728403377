#include "mpi/world/communicators.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <span>

#include "mpi/host/handle_cache.hpp"
#include "mpi/host/host.hpp"
#include "mpi/world/busy.hpp"
#include "mpi/world/world.hpp"

namespace weft::mpi {

namespace {

// How long MPI_Finalize waits for the ends of connections.
constexpr auto kGoodbye = std::chrono::seconds(2);

using Known = HandleCache<MPI_Comm, Attached*>;

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

/// For the calls of this thread to come.
void know(MPI_Comm comm, Attached* attached, std::uint64_t asked_at) {
  if (comm == MPI_COMM_WORLD) {
    Known::keep_lasting(comm, attached);
  } else {
    Known::keep(comm, attached, asked_at);
  }
}

// Kinds of children, so that their context numbers differ.
constexpr std::uint64_t kOfAll = 1, kOfGroup = 2, kMerged = 3, kNumbered = 4, kPersistent = 5;

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

Communicators::Communicators(World& world, const HostFacts* facts) : world_(world), facts_(facts) {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &Communicators::on_delete, &keyval_, this);
}

Communicators::~Communicators() {
  PMPI_Comm_free_keyval(&keyval_);
}

Attached* Communicators::of(MPI_Comm comm) {
  if (Attached* const* known = Known::find(comm)) return *known;
  const std::uint64_t asked_at = Known::generation_now();
  if (facts_ != nullptr) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(comm);
    if (found == live_.end()) return nullptr;
    know(comm, found->second, asked_at);
    return found->second;
  }
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval_, &value, &found) != MPI_SUCCESS) return nullptr;
  if (found != 0) {
    know(comm, static_cast<Attached*>(value), asked_at);
    return static_cast<Attached*>(value);
  }
  // The host would not delete it any more.
  if (Freeing::contains(comm)) return nullptr;
  Attached* const fresh = add(comm);
  PMPI_Comm_set_attr(comm, keyval_, fresh);
  return fresh;
}

Attached* Communicators::add(MPI_Comm comm) {
  std::unique_ptr<Attached> fresh = attach(comm);
  const std::lock_guard lock(mutex_);
  live_[comm] = fresh.get();
  return fresh.release();
}

int Communicators::on_delete(MPI_Comm, int, void* value, void* self) {
  static_cast<Communicators*>(self)->remove(static_cast<Attached*>(value));
  return MPI_SUCCESS;
}

void Communicators::remove(Attached* removed, bool at_once) {
  const std::unique_ptr<Attached> attached(removed);
  removed->comm == MPI_COMM_WORLD ? Known::forget_lasting() : Known::forget_all();
  const std::lock_guard lock(mutex_);
  live_.erase(removed->comm);
  if (at_once) end_retired();
  if (!attached->weft) return;
  tally(*attached);
  retire(std::move(*attached->weft), at_once);
}

std::shared_ptr<Attached> Communicators::add_persistent(Attached& of) {
  std::shared_ptr<Attached> fresh = attach(of.comm, ++of.lineage.persistents);
  fresh->topology.is_of_all = of.topology.is_of_all;
  // By a component the number is made at the set-up: other ranks may not know the communicator's.
  const bool is_known = facts_ == nullptr && of.lineage.context != 0;
  fresh->lineage.context =
      is_known ? mix(mix(of.lineage.context, kPersistent), fresh->lineage.persistent) : 0;
  const std::lock_guard lock(mutex_);
  end_retired();
  persistents_.insert(fresh);
  return fresh;
}

/// Perhaps in the middle of another call.
void Communicators::remove_persistent(const std::shared_ptr<Attached>& attached) {
  const std::lock_guard lock(mutex_);
  if (persistents_.erase(attached) != 0) end_persistent(*attached);
}

void Communicators::end_persistent(Attached& attached) {
  if (!attached.weft) return;
  tally(attached);
  retire(std::move(*attached.weft), false);
  attached.weft.reset();
  attached.state = Attached::State::passed_through;
}

void Communicators::tally(const Attached& attached) {
  world_.tally().add(attached.weft->statistics(), world_.shape_of(attached.members),
                     attached.members);
}

void Communicators::tally_live() {
  const std::lock_guard lock(mutex_);
  for (const auto& [comm, attached] : live_) {
    if (attached->weft) tally(*attached);
  }
  for (const auto& attached : persistents_) {
    if (attached->weft) tally(*attached);
  }
}

PassedCounts& Communicators::passed_of(Attached& attached) {
  if (attached.passed == nullptr) {
    const bool is_alone =
        attached.state == Attached::State::passed_through && attached.why == Passed::one_rank;
    const Shape shape = is_alone ? Shape{1, 1} : world_.shape_of(world_.members_of(attached.comm));
    attached.passed = &world_.tally().passed(shape);
  }
  return *attached.passed;
}

/// MPI_Comm_free waits for nobody: what other ranks have not ended yet is ended later.
void Communicators::retire(Communicator weft, bool at_once) {
  if (!at_once || !weft.close()) retired_.push_back(std::move(weft));
}

void Communicators::end_retired() {
  std::erase_if(retired_, [](Communicator& weft) { return weft.close(); });
}

void Communicators::free_all() {
  std::map<MPI_Comm, Attached*> left;
  {
    const std::lock_guard lock(mutex_);
    left = live_;
  }
  world_.networks().prepare_to_end();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& attached : persistents_) end_persistent(*attached);
    persistents_.clear();
  }
  for (const auto& [comm, attached] : left) {
    if (facts_ != nullptr) {
      remove(attached);
    } else {
      PMPI_Comm_delete_attr(comm, keyval_);
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kGoodbye;
  while (!retired_.empty() && std::chrono::steady_clock::now() < deadline) {
    end_retired();
    ::sched_yield();
  }
}

std::unique_ptr<Attached> Communicators::attach(MPI_Comm comm, std::uint64_t persistent) {
  auto attached = std::make_unique<Attached>();
  attached->comm = comm;
  attached->lineage.persistent = persistent;
  PMPI_Comm_size(comm, &attached->size);
  PMPI_Comm_rank(comm, &attached->rank);
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (comm == MPI_COMM_WORLD) attached->lineage.context = 1;
  if (inter != 0 || attached->size == 1) {
    attached->state = Attached::State::passed_through;
    attached->why = inter != 0 ? Passed::intercommunicator : Passed::one_rank;
  } else {
    attached->take_over.emplace(
        TakeOver::Placement{.ranks = attached->size,
                            .nodes = world_.machine().nodes(),
                            .most_ranks_on_a_core = world_.most_ranks_on_a_core(),
                            .is_of_all_ranks = comm == MPI_COMM_WORLD && persistent == 0,
                            .waiting_keeps_core = kReceiveKeepsCore});
  }
  return attached;
}

void Communicators::add_child(MPI_Comm parent, MPI_Comm child) {
  Attached* from = of(parent);
  if (from == nullptr || from->lineage.context == 0) return;
  ++from->lineage.children;
  if (child == MPI_COMM_NULL) return;
  Attached* made = of(child);
  if (made == nullptr) return;
  made->lineage.context = mix(mix(from->lineage.context, kOfAll), from->lineage.children);
  made->topology.is_of_all = from->topology.is_of_all;  // of a copy
  // Of as many ranks, which are the same then.
  if (made->size == from->size && made->state != Attached::State::passed_through) {
    made->passed = &passed_of(*from);
  }
}

void Communicators::add_graph(MPI_Comm parent, MPI_Comm child) {
  add_child(parent, child);
  const Attached* from = of(parent);
  if (from == nullptr || from->lineage.context == 0) return;
  int sources = 0, destinations = 0, is_weighted = 0;
  PMPI_Dist_graph_neighbors_count(child, &sources, &destinations, &is_weighted);
  int has_edges = sources + destinations > 0 ? 1 : 0;
  const Inside guard;
  const int code = PMPI_Allreduce(MPI_IN_PLACE, &has_edges, 1, MPI_INT, MPI_MIN, child);
  if (Attached* made = of(child)) made->topology.is_of_all = code == MPI_SUCCESS && has_edges != 0;
}

void Communicators::add_child_of_group(MPI_Comm parent, MPI_Comm child, int tag) {
  Attached* from = of(parent);
  Attached* made = child == MPI_COMM_NULL ? nullptr : of(child);
  if (from == nullptr || from->lineage.context == 0 || made == nullptr) return;
  const std::uint64_t of_parent =
      mix(mix(from->lineage.context, kOfGroup), static_cast<unsigned>(tag));
  const std::uint64_t key = mix_all(of_parent, world_.members_of(child));
  made->lineage.context = mix(key, ++from->lineage.children_of_group[key]);
}

/// All ranks of the group merge into this group in one order, unless several threads do at once.
void Communicators::add_merged(MPI_Comm child) {
  Attached* made = of(child);
  if (made == nullptr) return;
  const std::uint64_t key = mix_all(kMerged, world_.members_of(child));
  const std::lock_guard lock(mutex_);
  made->lineage.context = mix(key, ++merged_[key]);
}

/// The host gives the number of a communicator that was freed to the next one, which may have the
/// same ranks: so set-ups of the same number and ranks are counted. All these ranks make each of
/// them, and in one order, as the number is in use until they have all freed the one before.
bool Communicators::number(Attached& attached, std::span<const int> members) {
  if (facts_ != nullptr && attached.lineage.context == 0) {
    std::uint64_t number = mix(facts_->number_of(attached.comm), kNumbered);
    if (attached.lineage.persistent != 0)
      number = mix(mix(number, kPersistent), attached.lineage.persistent);
    const std::uint64_t key = mix_all(number, members);
    const std::lock_guard lock(mutex_);
    attached.lineage.context = mix(key, ++set_ups_[key]);
  }
  return attached.lineage.context != 0;
}

void Communicators::give_up(Attached& attached, std::string why) {
  world_.tally().add_note(std::move(why));
  tally(attached);
  attached.state = Attached::State::passed_through;
  attached.why = Passed::setup_failed;
  const std::lock_guard lock(mutex_);
  end_retired();
  retire(std::move(*attached.weft));
  attached.weft.reset();
}

}  // namespace weft::mpi
