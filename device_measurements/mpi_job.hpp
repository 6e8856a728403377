// MPI job: a bootstrap of the ranks that an MPI's launcher has started.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/weft.hpp"

namespace weft::device_measurements {

/// The MPI whose launcher has started this process, "openmpi" or "mpich"; nullopt without a
/// launcher, or in a job of one rank.
std::optional<std::string> launching_mpi();

/// A function of the library that opens this MPI. Error when the library is missing.
void* job_function(const std::string& mpi, const char* name);

/// The bootstrap of this process's job, by the MPI whose launcher has started it; null without a
/// launcher, or in a job of one rank. Destroy it before the MPI is finalized. Error when the
/// library that opens the MPI is missing.
std::unique_ptr<Bootstrap> job_bootstrap();

}  // namespace weft::device_measurements
