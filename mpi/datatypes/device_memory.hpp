// Memory of other processors: the drivers of CUDA and ROCm, where the program has loaded one, are
// asked whether a buffer is theirs, and copy it. Needs neither of them at build time.
//
// A buffer's place is its rank's own affair, as its datatype is: it is copied to this processor's
// memory and back, and the choice between weft and the host does not depend on it.
#pragma once

#include <atomic>
#include <cstddef>

namespace weft::mpi::device_memory {

/// The functions of a driver that has been found; null where there is none.
struct Drivers;
extern std::atomic<const Drivers*> drivers;

/// Whether this machine has a device that a driver could serve.
bool is_any_device() noexcept;
/// From now on drivers are looked for; without this there are none.
void watch() noexcept;
inline std::atomic<bool> watches = false;

/// Looks for drivers among the libraries that were loaded since the last look. Thread safe. Takes a
/// lock of the dynamic linker and a walk through its libraries, so only where watch() says so.
void look_again() noexcept;
inline void look_for_drivers() noexcept {
  if (watches.load(std::memory_order_relaxed)) look_again();
}

/// Asks the drivers.
bool is_known_to(const Drivers& loaded, const void* memory) noexcept;

/// Whether the memory may be another processor's: then only copy() and the host MPI may touch it.
/// Also true of some memory that both processors reach.
inline bool contains(const void* memory) noexcept {
  const Drivers* loaded = drivers.load(std::memory_order_acquire);
  return loaded != nullptr && is_known_to(*loaded, memory);
}

/// Copies bytes between this processor's memory and one for which contains() holds. False when the
/// driver refuses.
bool copy(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace weft::mpi::device_memory
