// Ranks that an MPI's launcher has started.
#pragma once

#include <memory>

#include "weft/weft.hpp"

namespace weft::probe {

/// The ranks of the job that this process is one of, by the MPI whose launcher has started it; null
/// where none has, or this one alone. It lives on until its MPI can be finalized. Error where what
/// opens that MPI is not there.
std::unique_ptr<Bootstrap> job_bootstrap();

}  // namespace weft::probe
