// Node plans: the last few plans of alltoallvs that are planned from the rows of all ranks of a
// node, where a row is where the blocks of one rank's call lie (vector_exchange.hpp).
//
// Programs often go forth and back between a few lists of counts. All ranks of the node make plans
// in the same calls, and so number them alike. At each call each rank tells the others one word:
// the plans that it had this row in. All see the same words. A plan that all of them name is of
// these rows, and is used; if there is none all ranks share their rows and plan anew. So all ranks
// of a node take the same branch at each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"
#include "hierarchy/local_blocks.hpp"

namespace weft::comm {

class NodePlans {
 public:
  /// Of rows with so many blocks. Collective on the node.
  NodePlans(Resources& resources, std::size_t blocks_of_row);

  /// All plans, as another algorithm makes them from now on.
  void forget() noexcept;
  /// This rank's row in the calls from now on; `in_place` on all ranks alike.
  void look_for(std::span<const plan::Block> row, bool in_place);
  /// The plan of the rows that the ranks have in this call; null: none is kept, and blocks() are
  /// those of the rows. Collective on the node.
  std::shared_ptr<Call> find(std::span<const plan::Block> row);
  /// Of the call for which find() found none.
  hierarchy::LocalBlocks blocks(std::span<const plan::Block> row, bool in_place) const;
  /// What was planned for that call, in the place of what has not been used for longest.
  void keep(std::span<const plan::Block> row, bool in_place, std::shared_ptr<Call> call);

 private:
  struct Kept {
    std::vector<plan::Block> row;  // this rank's
    bool in_place = false;
    std::shared_ptr<Call> call = {};
    std::uint64_t used = 0;  // in the use with this number
  };
  /// Among the ranks of a node of several, of the words and of the rows, and what they brought.
  struct Shares {
    Shares(Resources& resources, std::size_t blocks_of_row);

    engine::Prepared names, rows;
    std::vector<std::uint64_t> named;   // by place
    std::vector<plan::Block> of_ranks;  // rows, by place
  };

  void allgather(const engine::Prepared& prepared, const void* mine, void* all);

  Resources& resources_;
  std::optional<Shares> shares_;  // where the rank has neighbours
  std::size_t most_;              // plans
  std::vector<Kept> kept_;
  std::uint64_t of_row_ = 0;  // a bit for each of them that this rank's row is of
  std::uint64_t uses_ = 0;
};

}  // namespace weft::comm
