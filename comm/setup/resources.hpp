// Resources of one rank of a communicator: the machine, what the ranks of its node share, channels
// to other ranks, stages and the executor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/setup/membership.hpp"
#include "comm/setup/placement.hpp"
#include "comm/setup/progress_thread.hpp"
#include "comm/setup/settings.hpp"
#include "comm/setup/standstill_watch.hpp"
#include "comm/setup/stopwatch.hpp"
#include "engine/board/whereabouts.hpp"
#include "engine/run/executor.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "tune/chooser.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// Made by all ranks together; each step of that ends alike on all of them. Its parts are declared
/// in the order in which they depend on one another.
class Resources {
 public:
  Resources(std::unique_ptr<Bootstrap> bootstrap, const Options& options);
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  Membership& members() noexcept { return members_; }
  const Membership& members() const noexcept { return members_; }
  int rank() const noexcept { return members_.rank(); }
  int size() const noexcept { return members_.size(); }
  const Settings& settings() const noexcept { return facts_->settings; }
  const hierarchy::Machine& machine() const noexcept { return facts_->machine; }
  /// The place of each rank on this node; -1 elsewhere.
  std::span<const int> place_of_rank() const noexcept { return place_of_rank_; }
  int place() const noexcept { return place_of_rank_[rank()]; }
  int places() const noexcept { return machine().ranks_on_node_of(rank()); }
  /// Peers see shared heaps and no other memory: buffers elsewhere are to be copied there.
  bool sees_only_heaps() const noexcept { return only_heaps_; }
  /// The view that all ranks have of their neighbours' buffers.
  engine::View view() const noexcept { return view_; }
  /// Whether neighbours reach this rank's memory at `buffer` by loads and stores, not by system
  /// calls or through stages alone.
  bool is_reached_by_loads(const void* buffer) const noexcept;
  /// Whether some rank names a decision table (WEFT_TABLE).
  bool has_table() const noexcept { return has_table_; }
  /// Null: alone on its node.
  engine::NodeControl* node() noexcept { return node_.get(); }
  /// What the choice of algorithms rests on.
  tune::Situation situation() const;
  /// Whether some rank of the communicator shares its core; the same on all.
  bool is_any_crowded() const noexcept { return facts_->any_crowded; }
  /// The device that joins the nodes; nothing where there is none.
  std::optional<nic_profiles::DeviceName> device();

  engine::Executor& executor() noexcept { return *executor_; }
  RequestProgress& requests() const noexcept { return *requests_; }
  HostProgress& host_progress() noexcept { return host_progress_; }

  /// Whether a plan exchanges messages with a rank to which there is no channel yet.
  bool lacks_channel(const plan::Plan& plan) const;
  /// Channels to the ranks of plans, or to `peers`, and the memory that messages need. Collective.
  void connect(std::span<const plan::Plan> plans);
  void connect(std::span<const int> peers, const engine::MemoryNeed& need = {});
  /// Made by the two ends of each channel that a plan lacks: their plans agree on it.
  void connect_pairs(const plan::Plan& plan);
  /// Stages of at least `need` bytes each half: larger by a power of two, so that few calls make
  /// them grow, but not beyond WEFT_STAGE on that account. All ranks give the same. Collective.
  void make_stages(std::size_t need);
  /// Whether a plan needs scratch memory, or registered memory, that is not there yet.
  bool lacks_memory(const plan::Plan& plan) const;
  /// That of this rank's plans. Collective.
  void provide_memory(std::span<const plan::Plan> plans);
  /// A program of this rank; an error poisons the communicator on all ranks. `place_of_rank`: of
  /// the ranks that the plan names, where these are not the communicator's.
  engine::Prepared prepare(const plan::Plan& plan,
                           std::span<const engine::InlineOp> inline_ops = {},
                           std::span<const int> place_of_rank = {});
  engine::Prepared prepare(engine::Program program);

  /// As Communicator::close().
  bool close() noexcept { return links_->close(); }

  /// Something that only this rank knows of is wrong: the others are told. PeerError.
  [[noreturn]] void poison_all(std::string_view why);
  /// Runs `step`, which only this rank does: its errors are told to the others.
  template <class Step>
  void guarded(const Step& step) {
    try {
      step();
    } catch (const PeerError&) {
      throw;
    } catch (const std::exception& error) {
      poison_all(error.what());
    }
  }
  /// PeerError and poison where the executor has failed.
  void require_no_failure();

  void report(Statistics& statistics) const;
  /// Of neighbours' buffers, that this rank has moved by system calls, or had moved by their
  /// owners.
  std::uint64_t bytes_by_kernel() const noexcept;

 private:
  engine::Prepared prepare_program(engine::Program program);
  [[noreturn]] void poison_with(std::string text);
  std::vector<std::string> exchange_in_pairs(std::span<const int> peers, std::string& error,
                                             const std::function<std::vector<std::string>()>& step);
  engine::MemoryNeed need_of(std::span<const plan::Plan> plans) const;
  engine::MemoryUse memory_use() const noexcept {
    return machine().nodes() > 1 ? engine::MemoryUse::device : engine::MemoryUse::node;
  }
  void make_node();
  void attach_node(std::span<const std::string> handles);
  void set_view(std::string_view vote);
  void show_rank(std::string_view number);
  std::vector<engine::board::Whereabouts> ask_other_nodes(
      const engine::board::SeenCommunicator& seen);
  engine::board::SeenCommunicator look_around() const;
  void answer_about_other_nodes() noexcept;
  void report_standstill() noexcept;
  void note_view();
  engine::View best_view();
  std::string why_no_heap() const;
  std::string why_no_xpmem() const;
  tune::Direct direct(bool counts_heaps) const;
  /// The ranks of this node, ascending.
  std::span<const int> neighbours() const { return machine().ranks_on(machine().node_of(rank())); }
  void note_connections();

  Membership members_;
  HostProgress host_progress_;
  std::shared_ptr<StandstillWatch> watch_;  // null: no setting asks for it
  std::shared_ptr<const Facts> facts_;
  std::vector<int> place_of_rank_;
  std::unique_ptr<engine::NodeControl> node_;  // null: alone on its node
  engine::View view_ = engine::View::staged;   // the same on all ranks
  bool only_heaps_ = false;                    // the same on all ranks
  bool only_long_blocks_ = false;              // of heaps, the same on all ranks
  bool has_table_ = false;                     // the same on all ranks
  engine::Turn turn_;
  std::unique_ptr<engine::Links> links_;
  std::unique_ptr<engine::Stages> stages_;
  std::vector<std::unique_ptr<engine::Stages>> outgrown_;  // as long as something is under way
  std::unique_ptr<engine::Executor> executor_;
  // For the report.
  std::string view_name_;
  std::string device_name_;
  std::unique_ptr<RequestProgress> requests_;  // goes first, as its thread uses the rest
};

}  // namespace weft::comm
