// Drawing of plans for the terminal.
//
//           round 0         round 1
//   node 0
//        0  =64 !1,2 ?1,2   =128 >3 <3
//        1  =64 !0,2 ?0,2   =128 >4 <4
//   ...
//
// An op stands in the round in which it can start: the number of messages and signals on the
// longest chain of ops before it. A recv or wait stands where its send or signal does.
#pragma once

#include <span>
#include <string>

#include "plan/plan.hpp"

namespace weft::plan {

/// A table with a row for each rank, or only for `only`, and a column for each round; in bands
/// where it is wider than `columns` characters. UsageError as for cost_sheet(), and where `only` is
/// no rank.
std::string draw(std::span<const int> node_of_rank, std::span<const Plan> plans, int only = -1,
                 std::size_t columns = 100);

}  // namespace weft::plan
