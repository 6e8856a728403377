// Stand-ins for device files: some programs look for a device's node (UCX) or for the folder of
// devices in sysfs (Open MPI's openib) before they use libibverbs. Neither exists nor is needed, so
// stat and access answer for them here. In a program that preloads or links to the device these
// functions come before glibc's, under glibc's versions.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if defined(__x86_64__)
#define WEFT_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define WEFT_FIRST_GLIBC "GLIBC_2.17"
#endif

#ifdef WEFT_FIRST_GLIBC

namespace {

/// The path to ask for instead of a device file that does not exist, after a call failed with
/// errno; nullptr for any other path.
const char* stand_in(const char* path) {
  constexpr char kNodes[] = "/dev/infiniband/weft_uverbs";
  if (errno != ENOENT) return nullptr;
  if (std::strncmp(path, kNodes, sizeof(kNodes) - 1) == 0) return "/dev/null";
  return std::strcmp(path, "/sys/class/infiniband") == 0 ? "/sys/class" : nullptr;
}

}  // namespace

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

__asm__(".symver weft_stat, stat@@GLIBC_2.33");
WEFT_EXPORT int weft_stat(const char* path, struct stat* status) {
  const int result = ::fstatat(AT_FDCWD, path, status, 0);
  const char* other = result == 0 ? nullptr : stand_in(path);
  return other == nullptr ? result : ::fstatat(AT_FDCWD, other, status, 0);
}

__asm__(".symver weft_access, access@@" WEFT_FIRST_GLIBC);
WEFT_EXPORT int weft_access(const char* path, int mode) {
  const int result = ::faccessat(AT_FDCWD, path, mode, 0);
  const char* other = result == 0 ? nullptr : stand_in(path);
  return other == nullptr ? result : ::faccessat(AT_FDCWD, other, mode, 0);
}

#endif
