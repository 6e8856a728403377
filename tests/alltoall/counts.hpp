// Random alltoallvs for property tests.
#pragma once

#include <rapidcheck.h>

#include <functional>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::alltoall {

/// How the blocks of one buffer lie.
enum class Placing { dense, gaps, backwards, permuted };

/// The size of the block from rank to rank.
using Sizes = std::function<std::uint64_t(int from, int to)>;

/// The alltoallv of `sizes`; in place they must be symmetric.
plan::Problem make_alltoallv(int ranks, const Sizes& sizes, Placing sends, Placing receives,
                             bool in_place);

/// For use inside a property. Sizes of several kinds: equal, random with many zeros, one rank that
/// sends or receives nearly all, a band, all of which shrink to zeros. Some are far above others,
/// so that a threshold parts them.
plan::Problem any_alltoallv(int ranks, bool in_place);

/// A threshold that parts the sizes that any_alltoallv() draws, or none.
std::string any_aggregate();

/// Runs `property` on `draws` draws, a hundred times as many with WEFT_LONG_TESTS=1.
void check_property(const std::function<void()>& property, int draws);

/// Any placement of up to `most_ranks` ranks on up to `most_nodes` nodes, half with domains.
hierarchy::Machine any_wide_machine(int most_ranks, int most_nodes);

}  // namespace weft::alltoall
