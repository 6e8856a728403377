// Rooted exchange: scatter and gather of blocks of different sizes. Ranks know their own block
// only, so the root exchanges with each rank directly, in turn: nothing else could be planned
// alike.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"

namespace weft::comm {

/// For one collective and root.
class RootedExchange {
 public:
  static constexpr const char* kAlgorithm = "sequential";

  /// Makes channels for all sizes to come. Collective.
  RootedExchange(Resources& resources, int root, std::size_t entry);

  /// The programs for the blocks that this rank knows; the last ones again where these are the
  /// same.
  const std::shared_ptr<Call>& call_for(const plan::Problem& problem);

 private:
  Resources& resources_;
  std::size_t entry_;  // of the statistics
  std::shared_ptr<Call> last_;
};

}  // namespace weft::comm
