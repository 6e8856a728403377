// Presence: whether all ranks of MPI_COMM_WORLD have the add-on. Where LD_PRELOAD did not reach
// some, no set-up of weft may wait for them, and all ranks run plain.
#pragma once

#include <string>
#include <vector>

namespace weft::mpi {

/// Called right after the host's MPI_Init by each rank that has the add-on; the same answer on
/// each. Ranks without it are not waited for. Where the launcher has no key-value space to ask it
/// is true once all ranks have come; if some do not, the job ends with a line. When some rank lacks
/// the add-on, the lowest that has it prints a line that names those without; silent where it is
/// WEFT_DISABLE=1 that all of them lack it by.
bool all_ranks_have_addon();

/// "0, 2-4" of ascending ranks.
std::string list_of_ranks(const std::vector<int>& ranks);

}  // namespace weft::mpi
