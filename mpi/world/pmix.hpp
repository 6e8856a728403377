// PMIx, the launcher's interface that Open MPI uses: the host's library of it is used, never one of
// the add-on's own.
#pragma once

#include "mpi/host/host.hpp"

#if WEFT_HOST_USES_PMIX && __has_include(<pmix.h>)
#define WEFT_HAS_PMIX

#include <pmix.h>

namespace weft::mpi::pmix {

/// A function of the PMIx library that the host has loaded; null when it has loaded none. `caller`:
/// an address in the host's code that has called a function of PMIx, where there is one.
void* symbol(const char* name, const void* caller = nullptr) noexcept;

/// Called right before the host commits its values: puts this rank's beside them.
void put() noexcept;
/// The same, if the program's MPI_Init came to the add-on: calls of a program that has looked them
/// up in the host's library do not, and weft would wait for that rank in vain.
void put_if_called() noexcept;

/// Called when the host begins an exchange, and when that has ended. Only one that collects all
/// ranks' values makes them visible.
bool begin_fence(const pmix_info_t* info, std::size_t count) noexcept;
void end_fence(pmix_status_t status) noexcept;

}  // namespace weft::mpi::pmix

#endif
