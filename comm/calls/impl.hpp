// Implementation of a communicator: the calls of one rank, and its requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/calls/agreed_choice.hpp"
#include "comm/calls/heap_copies.hpp"
#include "comm/irregular/rooted_exchange.hpp"
#include "comm/irregular/vector_exchange.hpp"
#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"
#include "comm/setup/stopwatch.hpp"
#include "plan/plan.hpp"
#include "weft/weft.hpp"

namespace weft {

class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
      : resources_(std::move(bootstrap), options), choice_(resources_) {}

  int rank() const noexcept { return resources_.rank(); }
  int size() const noexcept { return resources_.size(); }
  const hierarchy::Machine& machine() const noexcept { return resources_.machine(); }

  /// The most bytes of an alltoall in place that are copied aside: half of WEFT_STAGE, the same on
  /// every rank.
  std::uint64_t most_aside() const noexcept { return stage_limit(); }

  /// Runs a collective that all ranks describe alike.
  void run(const comm::Task& task);
  [[noreturn]] void fail(std::string_view why);
  bool close() noexcept;
  /// What is ready to be started. It keeps its programs.
  std::unique_ptr<Request::Impl> request(const comm::Task& task);
  void start(Request::Impl& request);
  bool test(Request::Impl& request);
  void wait(Request::Impl& request);

  tune::Algorithm algorithm_for(const plan::Problem& problem) const {
    return choice_.algorithm_for(problem);
  }
  Statistics statistics() const;

 private:
  friend class weft::Request;
  using Call = comm::Call;
  using SharedCall = std::shared_ptr<Call>;
  /// What a rank's part of a problem needs of the memory that the executor has.
  struct Need {
    std::uint64_t stage_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    bool connects = false;  // to a rank that it has no channel to yet
    bool grows_scratch = false;
    bool reads_peers = false;  // their buffers where they lie
  };
  struct Cut {
    std::uint64_t slice_bytes = 0;
    plan::Plan plan;  // of a slice
    Need need;        // of the neediest rank
  };

  // calls.cpp
  const SharedCall& call_for(const comm::Task& task);
  const SharedCall& rooted_call_for(const plan::Problem& problem);
  const SharedCall& vector_call_for(const comm::Task& task);
  /// Collective, on the first call for a problem.
  const SharedCall& prepare(const plan::Problem& problem);
  const SharedCall& keep(SharedCall call);
  Need plan_alike(const tune::Algorithm& algorithm, const plan::Problem& problem, plan::Plan& plan);
  Cut cut(const tune::Algorithm& algorithm, const plan::Problem& problem);
  std::size_t entry_for(plan::Collective collective, const std::string& algorithm);
  std::uint64_t stage_limit() const noexcept { return resources_.settings().stage_bytes / 2; }

  // runs.cpp
  void run_now(const comm::Task& task);
  void run_exclusively(const comm::Task& task);
  /// `task` with buffers that peers see: those elsewhere are copied to the shared heap.
  const comm::Task& publish(const Call& call, const comm::Task& task, comm::HeapCopies& copies);
  void run_prepared(const engine::Prepared& prepared, const engine::Buffers& buffers);
  template <class Each>
  void for_each_slice(const Call& call, const comm::Task& task, const std::byte* input, Each each);
  void start_thread();
  /// The executions of a request are over.
  void end(Request::Impl& request) noexcept;

  comm::Resources resources_;
  comm::AgreedChoice choice_;
  using Calls = std::list<SharedCall>;
  Calls calls_;  // the one used last comes first: the same order on every rank
  std::unordered_map<plan::Problem, Calls::iterator, comm::ProblemHash> call_of_;
  std::map<std::pair<plan::Collective, int>, comm::RootedExchange> rooted_;  // by root
  std::unique_ptr<comm::VectorExchange> vector_;  // from the first alltoallv on
  std::size_t vector_entry_ = 0;                  // of the statistics
  std::vector<std::byte> aside_;
  comm::HeapCopies copies_;
  std::vector<Statistics::Entry> entries_;
  std::vector<std::uint64_t> ticks_;  // by entry
  comm::Stopwatch stopwatch_;
  bool wants_thread_ = resources_.settings().progress_thread;
};

/// One rank's side of a request.
struct Request::Impl {
  Communicator::Impl& home;
  comm::Task task;
  std::shared_ptr<const comm::Call> call;  // its programs; null: nothing to move
  std::vector<engine::Execution*> under_way;
  std::vector<std::byte> aside;
  comm::HeapCopies copies;
};

}  // namespace weft
