// Agreement of all ranks on settings, when the program calls MPI_Init. Needs no mpi.h.
#pragma once

#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/report/job_report.hpp"
#include "plan/collective_set.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

struct Agreement {
  plan::CollectiveSet disabled;  // by WEFT_DISABLE of any rank
  ReportTarget report;           // of rank 0
  hierarchy::Machine machine;
};

/// Collective. Exchanges the settings in the environments of all ranks, and returns the same answer
/// on each. UsageError, the same on every rank, when a setting of any rank is invalid, or when
/// ranks differ in a setting that must be the same.
Agreement agree(Bootstrap& bootstrap);

}  // namespace weft::mpi
