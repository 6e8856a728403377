// Job agreement: settings and facts that all ranks of a job agree on in MPI_Init. Needs no mpi.h.
#pragma once

#include <string>
#include <vector>

#include "comm/setup/placement.hpp"
#include "comm/setup/settings.hpp"
#include "hierarchy/machine.hpp"
#include "mpi/report/job_report.hpp"
#include "plan/collective_set.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

struct JobAgreement {
  plan::CollectiveSet disabled;        // WEFT_DISABLE of all ranks together
  plan::CollectiveSet wanted_at_once;  // by weft, from the first call of each communicator on
  ReportTarget report;                 // as rank 0 asks
  std::string recording;               // WEFT_TRACE, likewise
  comm::Settings settings;             // of this rank
  hierarchy::Machine machine;
  comm::Hosts hosts;
  std::string note;  // for the report; empty: none
  bool unusable;     // some rank cannot tell what it needs to know: the host takes all calls
};

/// Collective. Exchanges the settings in the environments of all ranks, and returns the same answer
/// on each. UsageError, the same on every rank, when a setting of any rank is invalid, or when
/// ranks differ in a setting that must be the same.
JobAgreement agree(Bootstrap& bootstrap);

}  // namespace weft::mpi
