#include "hierarchy/columns.hpp"

namespace weft::hierarchy {

Columns::Columns(const Machine& machine, int node)
    : machine_(machine),
      local_(machine.ranks_on(node)),
      remote_(static_cast<std::size_t>(machine.widest())),
      first_row_(remote_.size()),
      rows_(local_.size()),
      row_of_rank_(static_cast<std::size_t>(machine.ranks()), -1) {
  for (int other = 0; other < machine.nodes(); ++other) {
    if (other == node) continue;
    const auto ranks = machine.ranks_on(other);
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      remote_[place].push_back(ranks[place]);
    }
  }
  for (std::size_t column = 0; column < remote_.size(); ++column) {
    int& rows = rows_[column % local_.size()];
    first_row_[column] = rows;
    for (const int rank : remote_[column]) row_of_rank_[rank] = rows++;
  }
}

std::vector<int> Columns::members(int column) const {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(machine_.nodes()));
  for (int node = 0; node < machine_.nodes(); ++node) {
    const auto local = machine_.ranks_on(node);
    ranks.push_back(local[static_cast<std::size_t>(column) % local.size()]);
  }
  return ranks;
}

}  // namespace weft::hierarchy
