// Columns: the ranks of one place on all nodes, and who stands in for a place that a node lacks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// The columns of a machine as one node sees them.
///
/// Column x joins one rank a node: its *representative*, the rank of place x modulo the node's
/// ranks. That is the rank of place x itself wherever there is one. So on any placement every
/// remote rank has exactly one local rank that represents its column:
///
///   node A: places 0 1       column 0: A0 B0     A0 stands in for column 2 of B, which A lacks
///   node B: places 0 1 2     column 1: A1 B1
///                            column 2: A0 B2
///
/// A representative keeps one *row* for each remote rank that it represents, column after column,
/// within a column by node.
class Columns {
 public:
  Columns(const Machine& machine, int node);

  /// Over all nodes, so that every node counts the same columns.
  int count() const { return static_cast<int>(remote_.size()); }
  /// The ranks of place `column` on other nodes, by node.
  std::span<const int> remote(int column) const { return remote_[column]; }
  /// The representative of `column` on this node.
  int representative(int column) const {
    return local_[static_cast<std::size_t>(column) % local_.size()];
  }
  /// One rank a node: the representative of `column` there.
  std::vector<int> members(int column) const;

  /// Rows that local `rank` keeps: the remote ranks that it represents.
  int rows(int rank) const { return rows_[machine_.place_of(rank)]; }
  /// The first row of `column` at its representative; remote(column) follow from there.
  int first_row(int column) const { return first_row_[column]; }
  /// The row of remote `rank` at the representative of its column.
  int row_of(int rank) const { return row_of_rank_[rank]; }

 private:
  const Machine& machine_;
  std::span<const int> local_;
  std::vector<std::vector<int>> remote_;  // by column
  std::vector<int> first_row_;            // by column
  std::vector<int> rows_;                 // by place
  std::vector<int> row_of_rank_;
};

}  // namespace weft::hierarchy
