// Plugin of the tool for each MPI: a bootstrap over MPI_COMM_WORLD. The tool itself is not linked
// with an MPI; where mpirun has started it, it opens this plugin to join the job.
#include "mpi/launch/job.hpp"

/// To be called once in a process. The caller owns the object and deletes it before the process
/// ends.
extern "C" WEFT_API weft::Bootstrap* weft_job_bootstrap() {
  return std::make_unique<weft::Job>().release();
}
