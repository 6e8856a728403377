// Rooted exchange: scatter and gather of blocks of different sizes. Ranks know their own block
// only, so the root exchanges with each rank directly, in turn: nothing else could be planned
// alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"

namespace weft::comm {

/// For one collective and root.
class RootedExchange {
 public:
  static constexpr const char* kAlgorithm = "sequential";
  /// Longer blocks go in pieces of this, a message each, whatever ranks do with them: so a rank
  /// that packs its block needs memory for a piece alone, and the other end need not be told.
  static constexpr std::uint64_t kPieceBytes = 1 << 20;

  /// Makes channels for all sizes to come. Collective.
  RootedExchange(Resources& resources, int root);

  /// The programs for the blocks that this rank knows. The last ones again, with other numbers
  /// where blocks have others, unless somebody else holds them; new ones where other ranks have
  /// none.
  const std::shared_ptr<Call>& call_for(const plan::Problem& problem);

 private:
  bool has_last_for(const plan::Problem& problem) const;
  void renumber(Call& call) const;
  void describe(const plan::Problem& problem, Call& call) const;

  Resources& resources_;
  int root_;
  std::shared_ptr<Call> last_;
};

/// Whether some block that this rank knows goes in more than one piece.
bool is_cut(const plan::Problem& problem);

}  // namespace weft::comm
