// MPICH's selection: the JSON file by which MPICH (4.0 and later) selects the algorithms of its
// collectives (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tune/hosts/host_rules.hpp"

namespace weft::tune::mpich {

/// The collectives for which the file may have rules by size, and barrier.
std::span<const plan::Collective> collectives();

/// MPICH's own selection, which is a text in its library: a file must have all collectives, as
/// MPICH falls back on nothing. UsageError where there is none.
std::string own_selection(const std::string& library);

/// `own` with `rules` in it for communicators of `ranks`; all others are as they were, and so are
/// reductions by operations, and calls in place, for which not every algorithm is right.
std::string selection_file(std::string_view own, std::span<const HostRules> rules, int ranks);

}  // namespace weft::tune::mpich
