#include "mpi/datatypes/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

namespace weft::mpi::device_memory {

namespace {

// CUDA's driver interface (cuda.h): memory types of CU_POINTER_ATTRIBUTE_MEMORY_TYPE.
constexpr int kMemoryType = 2;
constexpr unsigned kHost = 1;
using CudaAttribute = int(void* value, int attribute, std::uint64_t pointer);
using CudaCopy = int(std::uint64_t to, std::uint64_t from, std::size_t bytes);

// HIP's (hip_runtime_api.h). The numbers of memory types differ between ROCm 5 and 6: 0 is this
// processor's in both; what ROCm 6 knows as pinned memory of this processor is copied, too.
constexpr int kHipMemoryType = 2;
constexpr unsigned kHipHost = 0;
constexpr int kEitherWay = 4;  // hipMemcpyDefault
using HipAttribute = int(void* value, int attribute, void* pointer);
using HipCopy = int(void* to, const void* from, std::size_t bytes, int kind);
using HipError = int();

}  // namespace

struct Drivers {
  CudaAttribute* cuda_attribute = nullptr;
  CudaCopy* cuda_copy = nullptr;
  HipAttribute* hip_attribute = nullptr;
  HipCopy* hip_copy = nullptr;
  HipError* hip_last_error = nullptr;  // and forgets it
  HipError* hip_peek_at_error = nullptr;

  bool has_any() const noexcept { return cuda_attribute != nullptr || hip_attribute != nullptr; }
};

std::atomic<const Drivers*> drivers = nullptr;

namespace {

std::atomic<unsigned long long> libraries_seen = 0;

int count_loaded(dl_phdr_info* info, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;  // enough
}

template <class Function>
void find(void* library, const char* name, Function*& function) noexcept {
  if (function == nullptr) function = reinterpret_cast<Function*>(dlsym(library, name));
}

void find_all(void* library, Drivers& found) noexcept {
  find(library, "cuPointerGetAttribute", found.cuda_attribute);
  find(library, "cuMemcpy", found.cuda_copy);
  find(library, "hipPointerGetAttribute", found.hip_attribute);
  find(library, "hipMemcpy", found.hip_copy);
  find(library, "hipGetLastError", found.hip_last_error);
  find(library, "hipPeekAtLastError", found.hip_peek_at_error);
}

/// Libraries that the program has opened for itself alone are found by name.
int look_into(dl_phdr_info* info, std::size_t, void* found) {
  const char* file = std::strrchr(info->dlpi_name, '/');
  file = file != nullptr ? file + 1 : info->dlpi_name;
  if (std::strncmp(file, "libcuda.so", 10) != 0 && std::strncmp(file, "libamdhip64.so", 14) != 0) {
    return 0;
  }
  // Never closed: the program's driver stays as long as its functions are known here.
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) find_all(library, *static_cast<Drivers*>(found));
  return 0;
}

}  // namespace

bool is_any_device() noexcept {
  // NVIDIA's, those of its systems on a chip and of WSL, and AMD's.
  constexpr std::array kDevices = {"/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg", "/dev/kfd"};
  const auto exists = [](const char* path) { return ::access(path, F_OK) == 0; };
  return std::ranges::any_of(kDevices, exists);
}

void watch() noexcept {
  watches.store(true, std::memory_order_relaxed);
}

void look_again() noexcept {
  unsigned long long loaded = 0;
  dl_iterate_phdr(&count_loaded, &loaded);
  if (loaded == libraries_seen.load(std::memory_order_acquire)) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (loaded == libraries_seen.load(std::memory_order_relaxed)) return;
  Drivers found;
  find_all(RTLD_DEFAULT, found);
  dl_iterate_phdr(&look_into, &found);
  const Drivers* known = drivers.load(std::memory_order_relaxed);
  const bool is_new = known == nullptr || found.cuda_attribute != known->cuda_attribute ||
                      found.hip_attribute != known->hip_attribute;
  // Other threads may use the old ones: not freed, there are few.
  if (found.has_any() && is_new) {
    const auto* kept = new (std::nothrow) Drivers(found);
    if (kept == nullptr) return;  // looked for again in the next call
    drivers.store(kept, std::memory_order_release);
  }
  libraries_seen.store(loaded, std::memory_order_release);
}

bool is_known_to(const Drivers& loaded, const void* memory) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  if (loaded.cuda_attribute != nullptr) {
    unsigned type = kHost;
    if (loaded.cuda_attribute(&type, kMemoryType, address) == 0 && type != kHost) return true;
  }
  if (loaded.hip_attribute == nullptr) return false;
  const bool was_good = loaded.hip_peek_at_error == nullptr || loaded.hip_peek_at_error() == 0;
  unsigned type = kHipHost;
  const int error = loaded.hip_attribute(&type, kHipMemoryType, const_cast<void*>(memory));
  // The program must not find an error that it has not made.
  if (error != 0 && was_good && loaded.hip_last_error != nullptr) loaded.hip_last_error();
  return error == 0 && type != kHipHost;
}

bool copy(void* to, const void* from, std::size_t bytes) noexcept {
  const Drivers* loaded = drivers.load(std::memory_order_acquire);
  if (loaded == nullptr) return false;
  if (loaded->cuda_copy != nullptr &&
      loaded->cuda_copy(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from),
                        bytes) == 0) {
    return true;
  }
  return loaded->hip_copy != nullptr && loaded->hip_copy(to, from, bytes, kEitherWay) == 0;
}

}  // namespace weft::mpi::device_memory
