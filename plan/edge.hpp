// Edge: a block that a rank sends to a neighbour, or receives from one.
#pragma once

#include <vector>

#include "plan/problem.hpp"

namespace weft::plan {

/// A block of a neighbourhood exchange, at one of its two ends: `block` lies in the input where the
/// edge goes out to `rank`, in the output where it comes in from there.
struct Edge {
  int rank = 0;
  Block block;

  bool operator==(const Edge&) const = default;
};

/// The edges of one rank. Two ranks may be joined by several, and a rank to itself: of those from
/// one rank to another the k-th that goes out is the k-th that comes in, and both ends give it the
/// same bytes. Blocks to send may overlap, blocks to receive may not.
struct Edges {
  std::vector<Edge> out;
  std::vector<Edge> in;

  bool operator==(const Edges&) const = default;
};

}  // namespace weft::plan
