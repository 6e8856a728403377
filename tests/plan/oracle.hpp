// Runs plans on real memory under random schedules: what the verifier proves, seen to happen. It
// shares no code with the verifier and is only for small cases.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "tests/plan/cases.hpp"

namespace weft::plan::testing {

/// The error in one of `schedules` random schedules: a wrong output, two ops at the same
/// bytes at the same time, a peer in a buffer whose owner is not in the call, an execution that
/// stands still. nullopt when nothing did.
std::optional<std::string> find_failure(const Case& plans, std::mt19937& random, int schedules);

}  // namespace weft::plan::testing
