// Jobs of this host: the processes that a user means by a number or a name.
#pragma once

#include <sys/types.h>

#include <vector>

#include "cli/options/command.hpp"

namespace weft::cli {

/// Those of this user that run over weft: all; or, by a process, that one with the other ranks of
/// its communicators, or else those that descend from it; or those in whose environment the
/// launcher has put that number or name of a job.
std::vector<pid_t> processes_of(const Text& job);

}  // namespace weft::cli
