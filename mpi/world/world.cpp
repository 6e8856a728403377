#include "mpi/world/world.hpp"

#include <atomic>
#include <numeric>

#include "base/env.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/host/host.hpp"
#include "mpi/report/job_agreement.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/group_bootstrap.hpp"
#include "mpi/world/presence.hpp"

namespace weft::mpi {

namespace {
std::atomic<World*> current = nullptr;
}  // namespace

World* World::get() noexcept {
  return current.load(std::memory_order_acquire);
}

void World::start() {
  if (get() != nullptr || !all_ranks_have_addon()) return;
  try {
    current.store(new World, std::memory_order_release);
  } catch (const std::exception& error) {
    end_job(error.what());
  }
}

void World::finish() {
  World* world = current.exchange(nullptr);
  if (world == nullptr) return;
  world->communicators_->free_all();
  const auto [pairs, reconnections] = world->networks_->counts();
  world->tally_.set_connections(pairs, reconnections);
  world->report();
  delete world;
}

namespace {

/// A progress thread is another thread than the program's.
verbs::Threads threads() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  const bool several =
      level == MPI_THREAD_MULTIPLE || env::flag("WEFT_PROGRESS_THREAD").value_or(false);
  return several ? verbs::Threads::several : verbs::Threads::one_at_a_time;
}

}  // namespace

World::World() : post_(std::make_unique<Post>()) {
  std::vector<int> all(static_cast<std::size_t>(post_->size()));
  std::iota(all.begin(), all.end(), 0);
  bootstrap_ = std::make_unique<GroupBootstrap>(*post_, std::move(all), 0);
  JobAgreement agreement = agree(*bootstrap_);
  disabled_ = agreement.disabled;
  unusable_ = agreement.unusable;
  wanted_at_once_ = agreement.wanted_at_once;
  report_ = std::move(agreement.report);
  machine_ = std::make_unique<hierarchy::Machine>(std::move(agreement.machine));
  settings_ = std::move(agreement.settings);
  device_memory::watch(settings_.device_memory);
  hosts_ = std::make_unique<comm::Hosts>(std::move(agreement.hosts));
  if (!agreement.note.empty()) tally_.add_note(std::move(agreement.note));
  PMPI_Comm_dup(MPI_COMM_SELF, &self_);
  PMPI_Comm_set_errhandler(self_, MPI_ERRORS_RETURN);
  PMPI_Comm_group(MPI_COMM_WORLD, &group_);
  networks_ = std::make_unique<engine::Networks>(threads());
  layouts_ = std::make_unique<Layouts>(self_);
  operations_ = std::make_unique<Operations>(self_, *layouts_);
  communicators_ = std::make_unique<Communicators>(*this);
}

World::~World() {
  communicators_.reset();
  operations_.reset();
  layouts_.reset();
  networks_.reset();
  bootstrap_.reset();
  post_.reset();
  PMPI_Group_free(&group_);
  PMPI_Comm_free(&self_);
}

std::vector<int> World::members_of(MPI_Comm comm) const {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), members(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(group, size, ranks.data(), group_, members.data());
  PMPI_Group_free(&group);
  return members;
}

std::shared_ptr<const comm::Facts> World::facts_of(std::span<const int> members) const {
  return std::make_shared<const comm::Facts>(
      comm::Facts::of(settings_, machine_->view(members), *hosts_, members, bootstrap_->rank()));
}

void World::report() {
  if (report_.form == ReportTarget::Form::none) return;
  const std::vector<std::string> tallies = bootstrap_->allgather(tally_.serialize());
  if (bootstrap_->rank() != 0) return;
  deliver_report(report_, merge_report(tallies, report_.form, host_name(), to_string(*machine_),
                                       machine_->nodes()));
}

}  // namespace weft::mpi
