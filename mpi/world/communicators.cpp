#include "mpi/world/communicators.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "mpi/host/errors.hpp"
#include "mpi/host/handle_cache.hpp"
#include "mpi/world/world.hpp"
#include "weft/mpi.hpp"

namespace weft::mpi {

namespace {

// Each uses shared memory, connections and a communicator of the host; MPICH has about 2000 of
// these.
constexpr std::size_t kMostCommunicators = 256;

using Known = HandleCache<MPI_Comm, Attached*>;

// Result of the set-up, the worst last.
enum class Outcome : int { good, failed, bad_setting };

struct Setup {
  Outcome outcome = Outcome::good;
  std::array<char, 512> line = {};  // the error

  void fail(Outcome how, const char* what) {
    outcome = how;
    std::strncpy(line.data(), what, line.size() - 1);
  }
};

// All ranks must go on alike: returns, on all, the worst outcome of any rank and the error line of
// the first rank that had it.
Setup worst_of_all(MPI_Comm comm, Setup mine) {
  struct {
    int outcome;
    int rank;
  } here{static_cast<int>(mine.outcome), 0}, worst{};
  PMPI_Comm_rank(comm, &here.rank);
  PMPI_Allreduce(&here, &worst, 1, MPI_2INT, MPI_MAXLOC, comm);
  mine.outcome = static_cast<Outcome>(worst.outcome);
  if (mine.outcome != Outcome::good) {
    PMPI_Bcast(mine.line.data(), static_cast<int>(mine.line.size()), MPI_CHAR, worst.rank, comm);
  }
  return mine;
}

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
  if (attached->weft) world_.tally().add(attached->weft->statistics());
  const std::lock_guard lock(mutex_);
  if (attached->weft) --connected_;
  std::erase(live_, attached);
}

void Communicators::free_all() {
  std::vector<MPI_Comm> comms;
  {
    const std::lock_guard lock(mutex_);
    for (const Attached* attached : live_) comms.push_back(attached->comm);
  }
  for (const MPI_Comm comm : comms) PMPI_Comm_delete_attr(comm, keyval_);
}

std::unique_ptr<Attached> Communicators::attach(MPI_Comm comm) {
  auto attached = std::make_unique<Attached>();
  attached->comm = comm;
  PMPI_Comm_size(comm, &attached->size);
  PMPI_Comm_rank(comm, &attached->rank);
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0 || attached->size == 1) {
    attached->state = Attached::State::passed_through;
    attached->why = inter != 0 ? Passed::intercommunicator : Passed::one_rank;
  }
  return attached;
}

bool Communicators::connect(Attached& attached) {
  using enum Attached::State;
  if (attached.state != not_connected) return attached.state == connected;
  attached.state = passed_through;
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(attached.comm, &group);
  const auto machine = world_.view_of(group);
  PMPI_Group_free(&group);
  if (!machine) {
    attached.why = Passed::foreign_ranks;
  } else if (!have_room_everywhere(attached.comm)) {
    attached.why = Passed::too_many;
  } else {
    set_up(attached, *machine);
  }
  if (!attached.weft) return false;
  attached.state = connected;
  const std::lock_guard lock(mutex_);
  ++connected_;
  return true;
}

bool Communicators::have_room_everywhere(MPI_Comm comm) {
  int here = 0, everywhere = 0;
  {
    const std::lock_guard lock(mutex_);
    here = connected_ < kMostCommunicators ? 1 : 0;
  }
  PMPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  return everywhere != 0;
}

void Communicators::set_up(Attached& attached, const hierarchy::Machine& machine) {
  Setup setup;
  try {
    Options options;
    const auto nodes = machine.node_of_rank();
    const auto sockets = machine.domain_of_rank();
    options.node_of_rank.assign(nodes.begin(), nodes.end());
    options.socket_of_rank.assign(sockets.begin(), sockets.end());
    attached.weft.emplace(mpi_bootstrap(attached.comm), options);
  } catch (const UsageError& error) {
    setup.fail(Outcome::bad_setting, error.what());
  } catch (const std::exception& error) {
    setup.fail(Outcome::failed, error.what());
  }
  setup = worst_of_all(attached.comm, setup);
  if (setup.outcome == Outcome::good) return;
  if (setup.outcome == Outcome::bad_setting) end_job(setup.line.data());
  attached.weft.reset();
  attached.why = Passed::setup_failed;
  world_.tally().add_note(setup.line.data());
}

}  // namespace weft::mpi
