// Signature of a call in MPI's terms, for WEFT_CHECK.
#pragma once

#include "mpi/calls/call.hpp"

namespace weft::mpi {

/// Tells weft what datatypes and which operation the call has, so that ranks compare them: the type
/// signature of a block where all ranks know its size, else of what goes to and comes from each
/// rank; MPI's operation, and whether an operation of the program commutes. After judge(), right
/// before run().
void describe_for_check(const Call& call, const Context& context);

}  // namespace weft::mpi
