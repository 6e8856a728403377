#include "mpi/world/world.hpp"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/call_mutex.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/process_handle.hpp"
#include "engine/heap/heap.hpp"
#include "engine/heap/mappings.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/host/host.hpp"
#include "mpi/report/job_agreement.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/group_bootstrap.hpp"
#include "mpi/world/key_values.hpp"
#include "mpi/world/presence.hpp"
#include "mpi/world/recorded_communicator.hpp"
#include "tune/profile_lookup.hpp"

namespace weft::mpi {

namespace {
std::atomic<World*> current = nullptr;
}  // namespace

World* World::get() noexcept {
  return current.load(std::memory_order_acquire);
}

void World::start(const HostFacts* facts) {
  if (get() != nullptr) return;
  try {
    if (!all_ranks_have_addon()) return;
    CallMutex::set_taken(has_several_threads());
    current.store(new World(facts), std::memory_order_release);
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
  Recorder::set(nullptr);
  if (world->recorder_) {
    gather_recording(*world->recorder_, *world->post_, world->recording_, world->recorded_facts());
  }
  delete world;
}

/// A progress thread is another thread than the program's.
bool World::has_several_threads() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE || env::flag("WEFT_PROGRESS_THREAD").value_or(false);
}

World::World(const HostFacts* facts) : facts_(facts), post_(std::make_unique<Post>()) {
  std::vector<int> all(static_cast<std::size_t>(post_->size()));
  std::iota(all.begin(), all.end(), 0);
  bootstrap_ = std::make_unique<GroupBootstrap>(*post_, std::move(all), 0);
  JobAgreement agreement = agree(*bootstrap_);
  disabled_ = agreement.disabled;
  unusable_ = agreement.unusable;
  wanted_at_once_ = agreement.wanted_at_once;
  report_ = std::move(agreement.report);
  recording_ = std::move(agreement.recording);
  machine_ = std::make_unique<hierarchy::Machine>(std::move(agreement.machine));
  settings_ = std::move(agreement.settings);
  using enum comm::Settings::DeviceMemory;
  const bool may_have_devices =
      settings_.device_memory == on ||
      (settings_.device_memory == detect && device_memory::is_any_device());
  if (may_have_devices) device_memory::watch();
  try {
    watch_ = comm::StandstillWatch::shared(settings_);
    if (watch_ && !watch_->why_no_signal().empty()) tally_.add_note(watch_->why_no_signal());
  } catch (const std::exception& refused) {
    tally_.add_note(fmt::format("nothing says why ranks stand still: {}", refused.what()));
  }
  hosts_ = std::make_unique<comm::Hosts>(std::move(agreement.hosts));
  post_->set_lost([this](int rank, std::int64_t waited_ns) { return lost(rank, waited_ns); });
  if (!agreement.note.empty()) tally_.add_note(std::move(agreement.note));
  if (form == Form::component && settings_.heap_bytes) {
    settings_.heap_bytes.reset();
    tally_.add_note("no shared heap: WEFT_SHARED_HEAP needs the add-on to preload");
  }
  if (engine::heap::is_serving() && !engine::heap::sees_mappings() &&
      engine::heap::has_only_long_blocks) {
    engine::heap::hide("no shared heap: mappings that the program makes over it are not seen here");
  }
  PMPI_Comm_dup(MPI_COMM_SELF, &self_);
  PMPI_Comm_set_errhandler(self_, MPI_ERRORS_RETURN);
  PMPI_Comm_group(MPI_COMM_WORLD, &group_);
  networks_ = std::make_unique<engine::Networks>(has_several_threads());
  layouts_ = std::make_unique<Layouts>(self_, facts);
  operations_ = std::make_unique<Operations>(self_, *layouts_);
  communicators_ = std::make_unique<Communicators>(*this, facts);
  if (recording_.empty()) return;
  recorder_ =
      std::make_unique<Recorder>(recording_, post_->rank(), post_->size(), has_several_threads());
  Recorder::set(recorder_.get());
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

Shape World::shape_of(std::span<const int> members) const {
  if (std::ranges::find(members, MPI_UNDEFINED) != members.end()) return {};
  const auto ranks = static_cast<int>(members.size());
  if (machine_->nodes() == 1) return {ranks, 1};
  std::set<int> nodes;
  for (const int member : members) nodes.insert(machine_->node_of(member));
  return {ranks, static_cast<int>(nodes.size())};
}

std::shared_ptr<const comm::Facts> World::facts_of(std::span<const int> members,
                                                   bool is_world) const {
  auto facts =
      comm::Facts::of(settings_, machine_->view(members), *hosts_, members, bootstrap_->rank());
  facts.is_of_all_ranks = is_world;
  return std::make_shared<const comm::Facts>(std::move(facts));
}

Summary World::summary() const {
  Summary summary = tally_.summary(bootstrap_->rank(), bootstrap_->size());
  summary.program = program_invocation_short_name;
  if (summary.program.empty()) summary.program = "?";
  summary.host = host_name();
  summary.machine = to_string(*machine_);
  summary.nodes = machine_->nodes();
  return summary;
}

std::map<std::string, std::string> World::recorded_facts() const {
  if (post_->rank() != 0) return {};
  const Summary job = summary();
  std::vector<int> all(static_cast<std::size_t>(post_->size()));
  std::iota(all.begin(), all.end(), 0);
  const sim::Host host = hosts_->busiest(*machine_, all);
  std::map<std::string, std::string> facts = {
      {"weft", WEFT_VERSION},
      {"program", job.program},
      {"host", job.host},
      {"machine", job.machine},
      {"cores", std::to_string(host.cores)},
      {"nodes of a host", std::to_string(host.nodes)},
      {"deterministic", settings_.deterministic ? "1" : "0"},
      {"view", job.views.empty() ? "" : job.views.front()}};
  const auto profile =
      tune::known_profile(job.profiles.empty() ? settings_.profile : job.profiles.front());
  if (profile != nullptr) facts["profile"] = profile->text;
  return facts;
}

std::string World::lost(int rank, std::int64_t waited_ns) const {
  const ProcessId process = hosts_->process_near(post_->rank(), rank);
  if (process.number != 0) {
    const auto handle = ProcessHandle::of(process);
    if (handle != nullptr && handle->has_ended()) {
      return fmt::format("rank {} (process {} of this host) has ended in the middle of a set-up",
                         rank, process.number);
    }
  }
  if (settings_.timeout_ns == 0 || waited_ns < settings_.timeout_ns) return {};
  return fmt::format(
      "rank {} of MPI_COMM_WORLD did not come to a set-up within {} s (WEFT_TIMEOUT)", rank,
      settings_.timeout_ns / 1'000'000'000);
}

void World::report() {
  if (!reports()) return;
  try {
    collect_report();
  } catch (const PeerError& error) {
    print_line(fmt::format("no report: {}", error.what()));
  }
}

void World::collect_report() {
  std::vector<std::string> ranks = {to_json(summary())};
  // Each sends when it is asked: all at once would fill the first rank's memory.
  if (post_->rank() != 0) {
    post_->receive(0, 0);
    const Post::Sending sending = post_->send(0, 0, ranks.front());
    return;
  }
  for (int rank = 1; rank < post_->size(); ++rank) {
    const Post::Sending question = post_->send(rank, 0, {});
    ranks.push_back(post_->receive(rank, 0));
  }
  deliver_report(report_, report_of(ranks, report_.form));
}

void World::tell_abort() {
  World* world = get();
  if (world != nullptr && world->recorder_) world->recorder_->keep_part();
  if (world == nullptr || !world->reports()) return;
  try {
    // Where other threads may be in calls, what these count is left alone.
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) world->communicators_->tally_live();
    Summary summary = world->summary();
    summary.complete = false;
    const std::string text = to_json(summary);
    deliver_report(world->report_, report_of(std::span(&text, 1), world->report_.form));
  } catch (const std::exception& error) {
    print_line(fmt::format("no report: {}", error.what()));
  }
}

}  // namespace weft::mpi
