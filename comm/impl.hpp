// What is behind a communicator.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "alltoall/registry.hpp"
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

  void alltoall(const std::byte* input, std::byte* output, std::size_t block_bytes);
  void alltoall_in_place(std::byte* buffer, std::size_t block_bytes);
  alltoall::Algorithm algorithm_for(std::size_t block_bytes) const;
  Statistics statistics() const;

 private:
  /// What one call signature takes: a run for every slice of the blocks.
  struct Call {
    std::size_t block_bytes = 0;
    std::size_t slice_bytes = 0;  // of each block, in all runs but the last
    std::optional<engine::Prepared> slice;
    std::optional<engine::Prepared> rest;  // the last run, when it is shorter
    std::size_t entry = 0;                 // in statistics
  };

  Call& call_for(std::size_t block_bytes);
  /// Collective, on the first call of a signature.
  Call& prepare(std::size_t block_bytes);
  std::vector<plan::Plan> plans(const alltoall::Algorithm& algorithm, std::size_t block_bytes,
                                std::size_t slice_bytes) const;
  std::size_t slice_for(const alltoall::Algorithm& algorithm, std::size_t block_bytes);
  /// Of what all ranks gave, what the ranks of this node gave, by place.
  std::vector<std::string> of_neighbours(std::span<const std::string> of_ranks) const;
  void connect(std::span<const int> peers);
  void make_stages(std::size_t half_bytes);
  std::size_t entry_for(const alltoall::Algorithm& algorithm);
  void run(Call& call, const std::byte* input, std::byte* output);
  /// Ends in the same error on every rank when `work` throws on one. Collective.
  template <class Work>
  std::vector<std::string> together(std::string_view signature, Work work);

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
  std::unordered_map<std::size_t, std::unique_ptr<Call>> calls_;  // by block_bytes
  Call* last_ = nullptr;
  std::vector<std::byte> copy_;  // of the input of calls in place
  Statistics statistics_;
  std::string broken_;  // why nothing can be run any more
};

}  // namespace weft
