// State of the add-on from MPI_Init to MPI_Finalize.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/setup/placement.hpp"
#include "comm/setup/settings.hpp"
#include "comm/setup/standstill_watch.hpp"
#include "engine/run/network.hpp"
#include "hierarchy/machine.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/host/host.hpp"
#include "mpi/operations/operations.hpp"
#include "mpi/recording/recorder.hpp"
#include "mpi/report/job_report.hpp"
#include "mpi/world/post.hpp"
#include "plan/collective_set.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

class Communicators;

/// State of this process as a rank of MPI_COMM_WORLD: all that must be freed before the host's
/// MPI_Finalize.
class World {
 public:
  /// Collective over MPI_COMM_WORLD, right after the host's MPI_Init; but makes nothing, and waits
  /// for nobody, when some rank lacks the add-on (presence.hpp). Invalid settings on any rank end
  /// the job, with the same line on every rank. `facts`, which live on: where this is a component
  /// of the host.
  static void start(const HostFacts* facts = nullptr);
  /// Collective over MPI_COMM_WORLD, right before the host's MPI_Finalize: frees everything, and
  /// prints the report where WEFT_REPORT asks for it.
  static void finish();
  /// Right before this rank ends the job: writes the report of this rank alone, where WEFT_REPORT
  /// asks for one. Waits for nobody.
  static void tell_abort();
  /// The object that exists between start() and finish(); null before and after, and where some
  /// rank lacks the add-on.
  static World* get() noexcept;

  ~World();

  /// Whether WEFT_DISABLE of some rank names the collective: then it goes to the host.
  bool disabled(plan::Collective collective) const { return disabled_.contains(collective); }
  /// All calls are the host's: the facts on which set-ups rest are missing on some rank.
  bool unusable() const { return unusable_; }
  /// Whether weft serves the collective from its first call on a communicator: an algorithm was
  /// asked for by name, or WEFT_AFTER=0.
  bool is_wanted_at_once(plan::Collective collective) const {
    return wanted_at_once_.contains(collective);
  }
  plan::CollectiveSet wanted_at_once() const { return wanted_at_once_; }
  /// The world ranks of a communicator; MPI_UNDEFINED where one is outside this world.
  std::vector<int> members_of(MPI_Comm comm) const;
  const hierarchy::Machine& machine() const { return *machine_; }
  int most_ranks_on_a_core() const { return hosts_->most_ranks_on_a_core(); }
  /// Whether calls may come from several threads at the same time.
  static bool has_several_threads();
  /// Whether ranks compare what they call (WEFT_CHECK).
  bool checks_calls() const { return settings_.check; }
  bool has_one_clock() const { return hosts_->is_one(); }
  /// Of the communicator of these world ranks.
  Shape shape_of(std::span<const int> members) const;
  /// What is known of the ranks `members` when they set up a communicator. `is_world`: the MPI's
  /// communicator of all ranks.
  std::shared_ptr<const comm::Facts> facts_of(std::span<const int> members, bool is_world) const;
  Post& post() { return *post_; }
  /// What the communicators of this rank share of the device; a process is its rank in this world.
  engine::Networks& networks() { return *networks_; }
  /// Null: this is no component of the host.
  const HostFacts* host_facts() const { return facts_; }
  const Layouts& layouts() const { return *layouts_; }
  const Operations& operations() const { return *operations_; }
  Communicators& communicators() const { return *communicators_; }
  Tally& tally() { return tally_; }
  /// Whether there will be a report: else nobody asks how long the host takes.
  bool reports() const { return report_.form != ReportTarget::Form::none; }

 private:
  explicit World(const HostFacts* facts);
  void report();
  void collect_report();
  /// What the recording says of the job.
  std::map<std::string, std::string> recorded_facts() const;
  /// See Post::Lost.
  std::string lost(int rank, std::int64_t waited_ns) const;
  Summary summary() const;

  const HostFacts* facts_;
  MPI_Comm self_ = MPI_COMM_NULL;  // this process alone; returns its errors
  MPI_Group group_ = MPI_GROUP_NULL;
  std::unique_ptr<Post> post_;
  std::unique_ptr<Bootstrap> bootstrap_;  // of all ranks
  plan::CollectiveSet disabled_;
  bool unusable_ = false;
  plan::CollectiveSet wanted_at_once_;
  ReportTarget report_;
  std::string recording_;               // the file of the job's recording; empty: none
  std::unique_ptr<Recorder> recorder_;  // likewise null
  std::unique_ptr<hierarchy::Machine> machine_;
  comm::Settings settings_;
  std::unique_ptr<comm::Hosts> hosts_;
  Tally tally_;
  std::shared_ptr<comm::StandstillWatch> watch_;  // null: no setting asks for it
  std::unique_ptr<engine::Networks> networks_;
  std::unique_ptr<Layouts> layouts_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<Communicators> communicators_;
};

}  // namespace weft::mpi
