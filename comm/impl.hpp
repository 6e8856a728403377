// What is behind a communicator.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/algorithms.hpp"
#include "comm/settings.hpp"
#include "engine/executor.hpp"
#include "hierarchy/machine.hpp"
#include "weft/weft.hpp"

namespace weft {

/// One rank's side. Owns its resources in the order in which they depend on one another.
class Communicator::Impl {
 public:
  Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return machine_.ranks(); }
  const hierarchy::Machine& machine() const noexcept { return machine_; }

  /// Runs a collective that all ranks describe by the same problem. `operation` is what reductions
  /// do. Buffers as Problem says; those that it leaves out may be anything.
  void run(const plan::Problem& problem, const std::byte* input, std::byte* output,
           const Operation* operation = nullptr);
  /// Runs a scatter or gather of which each rank knows its own block and the root knows all:
  /// `problem.layout` may be anything but for those.
  void run_irregular(const plan::Problem& problem, const std::byte* input, std::byte* output);
  /// The input of a reduction; of a call in place, out of the way of its output, until the next.
  const std::byte* input_of(const void* input, const void* output, std::size_t bytes);

  comm::Algorithm algorithm_for(const plan::Problem& problem) const;
  Statistics statistics() const;

 private:
  /// What one problem takes: a run for every slice of its blocks.
  struct Call {
    plan::Problem problem;
    std::uint64_t slice_bytes = 0;  // of each block, in all runs but the last; 0: all at once
    std::optional<engine::Prepared> slice;
    std::optional<engine::Prepared> rest;  // the last run, when it is shorter
    std::size_t entry = 0;                 // in statistics
    std::uint64_t input_bytes = 0;
  };
  struct ProblemHash {
    std::size_t operator()(const plan::Problem& problem) const noexcept;
  };
  /// What a rank's part of a problem needs of the memory that the executor has.
  struct Need {
    std::uint64_t stage_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    bool connects = false;  // to a rank that it has no channel to yet
  };
  struct Cut {
    std::uint64_t slice_bytes = 0;
    plan::Plan plan;  // of a slice
    Need need;        // of the neediest rank
  };
  struct Irregular {
    plan::Problem problem;
    std::optional<engine::Prepared> prepared;
    std::size_t entry = 0;
  };

  Call& call_for(const plan::Problem& problem);
  /// Collective, on the first call for a problem.
  Call& prepare(const plan::Problem& problem);
  Need agree(const comm::Algorithm& algorithm, const plan::Problem& problem, plan::Plan& plan);
  Cut cut(const comm::Algorithm& algorithm, const plan::Problem& problem);
  engine::Prepared made_ready(const plan::Plan& plan);
  /// Of what all ranks gave, what the ranks of this node gave, by place.
  std::vector<std::string> of_neighbours(std::span<const std::string> of_ranks) const;
  void connect(std::span<const int> peers);
  void make_stages(std::size_t half_bytes);
  std::size_t entry_for(plan::Collective collective, const std::string& algorithm);
  void execute(engine::Prepared& prepared, const std::byte* input, std::byte* output,
               const Operation* operation, Statistics::Entry& entry);
  /// Ends in the same error on every rank when `work` throws on one, else gives what every rank's
  /// `work` returned. Collective.
  template <class Work>
  std::vector<std::string> together(Work work);

  comm::Settings settings_;
  std::unique_ptr<Bootstrap> bootstrap_;
  int rank_;
  hierarchy::Machine machine_;
  std::vector<int> place_of_rank_;            // on this node; -1 elsewhere
  std::unique_ptr<engine::Node> node_;        // null: alone on its node
  engine::View view_ = engine::View::staged;  // the same on all ranks
  std::unique_ptr<engine::Links> links_;
  std::unique_ptr<engine::Stages> stages_;
  std::unique_ptr<engine::Executor> executor_;
  std::list<Call> calls_;  // the one used last comes first: the same order on every rank
  std::unordered_map<plan::Problem, std::list<Call>::iterator, ProblemHash> call_of_;
  std::map<std::pair<plan::Collective, int>, Irregular> irregular_;  // by collective and root
  std::vector<std::byte> aside_;
  Statistics statistics_;
  std::string broken_;  // why nothing can be run any more
};

}  // namespace weft
