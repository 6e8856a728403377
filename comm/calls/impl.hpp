// What is behind a communicator.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/calls/heap_copies.hpp"
#include "comm/calls/progress_thread.hpp"
#include "comm/calls/stopwatch.hpp"
#include "comm/calls/task.hpp"
#include "comm/irregular/vector_exchange.hpp"
#include "comm/setup/meeting.hpp"
#include "comm/setup/settings.hpp"
#include "engine/run/executor.hpp"
#include "hierarchy/local_blocks.hpp"
#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "tune/algorithm.hpp"
#include "tune/chooser.hpp"
#include "weft/weft.hpp"

namespace weft {

/// One rank's side. Owns its resources in the order in which they depend on one another.
class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return machine_.ranks(); }
  const hierarchy::Machine& machine() const noexcept { return machine_; }

  /// What an alltoall in place may copy aside: half of WEFT_STAGE, the same on every rank.
  std::uint64_t most_aside() const noexcept { return settings_.stage_bytes / 2; }

  /// Runs a collective that all ranks describe alike.
  void run(const comm::Task& task);
  /// What is ready to be started. It keeps its programs.
  std::unique_ptr<Request::Impl> request(const comm::Task& task);
  void start(Request::Impl& request);
  bool test(Request::Impl& request);
  void wait(Request::Impl& request);

  tune::Algorithm algorithm_for(const plan::Problem& problem) const {
    return chooser_->choose(problem);
  }
  Statistics statistics() const;

 private:
  friend class weft::Request;
  /// What one problem takes: a run for every slice of its blocks.
  struct Call {
    plan::Problem problem;
    std::uint64_t slice_bytes = 0;  // of each block, in all runs but the last; 0: all at once
    std::optional<engine::Prepared> slice;
    std::optional<engine::Prepared> rest;  // the last run, when it is shorter
    std::size_t entry = 0;                 // in statistics
    bool reads_peers = false;              // some rank does: others' buffers where they lie
    bool is_plain = false;                 // one run on the caller's buffers as they are
    std::uint64_t input_bytes = 0;
  };
  struct ProblemHash {
    std::size_t operator()(const plan::Problem& problem) const noexcept;
  };
  /// What a rank's part of a problem needs of the memory that the executor has.
  struct Need {
    std::uint64_t stage_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    bool connects = false;     // to a rank that it has no channel to yet
    bool reads_peers = false;  // their buffers where they lie
  };
  struct Cut {
    std::uint64_t slice_bytes = 0;
    plan::Plan plan;  // of a slice
    Need need;        // of the neediest rank
  };
  struct Irregular {
    std::shared_ptr<Call> call;  // of the last one's blocks
    std::size_t entry = 0;
  };

  void look_and_run(const comm::Task& task);
  /// Between this and its end the progress thread, if there is one, touches nothing.
  std::unique_lock<comm::ProgressThread> alone() const;
  void start_thread();
  /// What a request had started is over.
  void forget_started(Request::Impl& request) noexcept;
  const std::shared_ptr<Call>& call_for(const comm::Task& task);
  const std::shared_ptr<Call>& irregular_call_for(const plan::Problem& problem);
  /// Collective, on the first call for a problem.
  const std::shared_ptr<Call>& prepare(const plan::Problem& problem);
  void require_no_failure();
  /// `task` with buffers that peers see.
  const comm::Task& visible(const Call& call, const comm::Task& task, comm::HeapCopies& copies);
  /// The input of a call in place is copied to `aside`, out of the way of its output. Where it is
  /// now.
  static const std::byte* set_aside(const std::byte* input, std::uint64_t bytes,
                                    std::vector<std::byte>& aside);
  void run_prepared(const engine::Prepared& prepared, const engine::Buffers& buffers);
  template <class Each>
  void for_each_slice(const Call& call, const comm::Task& task, const std::byte* input, Each each);
  /// Finds what is known of the device, where there is more than one node. Collective.
  void find_profile();
  tune::Direct direct() const;
  /// For the report, once for each reason: an algorithm that was asked for by name and is not
  /// taken.
  void note_not_taken(plan::Collective collective, const std::string& algorithm,
                      std::string_view call, const std::string& reason);
  /// The same where it may not run for the problem.
  void note_passed_over(const plan::Problem& problem);
  /// algorithm_for() on rank 0. Collective.
  tune::Algorithm agree_on_algorithm(const plan::Problem& problem);
  /// `described`: what each rank says of its call. UsageError where two differ.
  void require_alike(std::span<const std::string_view> described);
  Need agree(const tune::Algorithm& algorithm, const plan::Problem& problem, plan::Plan& plan);
  Cut cut(const tune::Algorithm& algorithm, const plan::Problem& problem);
  std::vector<engine::LetterOp> letters_of(const tune::Algorithm& algorithm,
                                           const plan::Problem& problem);
  /// `place_of_rank`: of the ranks that the plan names, where these are not the communicator's.
  engine::Prepared made_ready(const plan::Plan& plan,
                              std::span<const engine::LetterOp> letters = {},
                              std::span<const int> place_of_rank = {});
  std::string why_no_heap() const;
  std::string why_no_xpmem() const;
  engine::View best_view();
  /// From every rank's host and socket identity, in rank order, and from what was asked for.
  hierarchy::Machine machine_of(const Options& options, std::span<const std::string> hosts,
                                std::span<const std::string> sockets) const;
  /// Of what all ranks gave, what the ranks of this node gave, by place.
  std::vector<std::string> of_neighbours(std::span<const std::string> of_ranks) const;
  void prepare_vector_exchange(const plan::Problem& problem);
  engine::Prepared make_publishing(std::uint64_t bytes);
  bool hear_of_node(bool is_new);
  hierarchy::LocalBlocks known_blocks() const;
  const std::shared_ptr<Call>& vector_call_for(const comm::Task& task);
  /// Collective.
  void connect(std::span<const int> peers);
  /// By the two ends of each connection that a plan lacks: their plans agree on it.
  void connect_pairs(const plan::Plan& plan);
  void note_connections();
  /// Something that only this rank knows of is wrong: the others are told, and this is the end.
  [[noreturn]] void give_up(std::string_view why);
  /// Nothing can be run any more.
  void break_for(std::string why) {
    broken_ = std::move(why);
    must_look_ = true;
  }
  void make_stages(std::size_t half_bytes);
  std::size_t entry_for(plan::Collective collective, const std::string& algorithm);
  /// Ends in the same error on every rank when `work` throws on one, else gives what every rank's
  /// `work` returned. Collective.
  template <class Work>
  std::vector<std::string> together(Work work);
  /// The bootstrap's, while what is under way moves on.
  std::vector<std::string> allgather(std::string_view mine);
  std::vector<std::string> exchange(std::span<const int> peers, std::span<const std::string> mine);
  void begin(std::optional<comm::Meeting>& meeting);
  /// Now and then, however short the waits are: MPI moves only when it is called.
  bool move_host_on_meanwhile();
  /// Not before it is time but for `early`. Whether it was.
  bool move_host_on(std::uint64_t now, std::uint64_t early);

  comm::Settings settings_;
  std::unique_ptr<Bootstrap> bootstrap_;
  int rank_;
  hierarchy::Machine machine_;
  std::vector<int> place_of_rank_;            // on this node; -1 elsewhere
  std::unique_ptr<engine::Node> node_;        // null: alone on its node
  engine::View view_ = engine::View::staged;  // the same on all ranks
  bool only_heaps_ = false;  // likewise: staged, and yet what lies in shared heaps is seen by all
  std::unique_ptr<engine::Links> links_;
  std::unique_ptr<engine::Stages> stages_;
  std::vector<std::unique_ptr<engine::Stages>> outgrown_;  // as long as something is under way
  std::unique_ptr<engine::Executor> executor_;
  std::optional<tune::Chooser> chooser_;
  std::set<std::string> not_taken_;  // algorithms asked for, with reasons: those that are noted
  using Calls = std::list<std::shared_ptr<Call>>;
  Calls calls_;  // the one used last comes first: the same order on every rank
  std::unordered_map<plan::Problem, Calls::iterator, ProblemHash> call_of_;
  std::map<std::pair<plan::Collective, int>, Irregular> irregular_;  // by collective and root
  std::unique_ptr<comm::VectorExchange> vector_;                     // from the first alltoallv on
  std::shared_ptr<Call> vector_call_;                                // the last one's
  std::vector<std::byte> aside_;
  comm::HeapCopies copies_;
  Statistics statistics_;
  comm::Stopwatch stopwatch_;
  std::vector<std::uint64_t> ticks_;  // by entry of the statistics
  std::uint64_t host_moves_at_ = 0;   // in ticks
  std::string broken_;                // why nothing can be run any more
  bool must_look_ = false;     // before a run: it is broken, or the progress thread may be at work
  bool crowded_ = false;       // this host: see Waiting
  bool any_crowded_ = false;   // some host, as all ranks know alike
  sim::Host host_;             // likewise: the one whose ranks share cores most, if there is any
  std::size_t under_way_ = 0;  // requests
  std::unique_ptr<comm::ProgressThread> thread_;  // goes first, as it uses the rest
};

/// One rank's side of a request.
struct Request::Impl {
  Communicator::Impl& home;
  comm::Task task;
  std::shared_ptr<const Communicator::Impl::Call> call;  // its programs; null: nothing to move
  std::vector<engine::Execution*> under_way;
  std::vector<std::byte> aside;
  comm::HeapCopies copies;
};

}  // namespace weft
