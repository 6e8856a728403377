// Inline messages of a call whose plans have no shape (shapes.hpp).
#pragma once

#include <vector>

#include "engine/program/inline_messages.hpp"
#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"
#include "tune/facts.hpp"

namespace weft::comm {

/// The bytes of a small problem that go along with signals inside the node; `own` is the plan of
/// its rank. From the plans of the ranks that it exchanges signals with, so both ends of a message
/// find the same.
std::vector<engine::InlineOp> inline_messages_of(const tune::Algorithm& algorithm,
                                                 const plan::Problem& problem,
                                                 const hierarchy::Machine& machine,
                                                 const plan::Plan& own);

}  // namespace weft::comm
