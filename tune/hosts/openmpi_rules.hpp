// Open MPI's dynamic rules: the file that coll/tuned reads (coll_tuned_dynamic_rules_filename), in
// the form that all versions from 1.3 on read: numbers, and comments behind "#".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tune/hosts/host_rules.hpp"

namespace weft::tune::openmpi {

/// The collectives for which the file may have rules. Not scatter and gather: coll/tuned looks for
/// their rules by arguments that only the root must give, so ranks could follow different ones.
std::span<const plan::Collective> collectives();

/// Whether coll/tuned's algorithm cuts its data into segments.
bool is_segmented(plan::Collective collective, std::string_view algorithm);

/// The file for communicators of `ranks`: others, smaller and larger ones, are left to Open MPI's
/// own rules. `about` becomes a comment, one line.
std::string rules_file(std::span<const HostRules> rules, int ranks, std::string_view about);

}  // namespace weft::tune::openmpi
