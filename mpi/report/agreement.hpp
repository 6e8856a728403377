// Settings that all ranks must share, agreed on when the program calls MPI_Init. Needs no mpi.h.
#pragma once

#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/report/job_report.hpp"
#include "plan/collective_set.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

struct Agreement {
  plan::CollectiveSet disabled;  // WEFT_DISABLE of all ranks together
  ReportTarget report;           // as rank 0 asks
  hierarchy::Machine machine;
};

/// Collective. Exchanges the settings in the environments of all ranks, and returns the same answer
/// on each. UsageError, the same on every rank, when a setting of any rank cannot be followed or
/// when ranks differ where they must not.
Agreement agree(Bootstrap& bootstrap);

}  // namespace weft::mpi
