#include "base/file.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/error.hpp"

namespace weft {

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    reset();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void File::reset() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Mapping::Mapping(int descriptor, std::size_t bytes) {
  leave_addresses(bytes);
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) throw_errno(fmt::format("mmap({} bytes of shared memory)", bytes));
  memory_ = {static_cast<std::byte*>(address), bytes};
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    memory_ = std::exchange(other.memory_, {});
  }
  return *this;
}

void Mapping::reset() noexcept {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  memory_ = {};
}

File make_memory_file(const char* label, std::size_t bytes) {
  File file(::memfd_create(label, MFD_CLOEXEC));
  if (!file) throw_errno(fmt::format("memfd_create({})", label));
  // A signal takes back what a call has committed: pieces get done between two of them.
  constexpr std::size_t kPiece = 1 << 20;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    const int error =
        ::posix_fallocate(file.get(), static_cast<off_t>(done), static_cast<off_t>(piece));
    if (error != 0 && error != EINTR) {
      throw SystemError(fmt::format("posix_fallocate({}, {} bytes)", label, bytes), error);
    }
    if (error == 0) done += piece;
  }
  return file;
}

bool write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool holds_unread(int pipe) noexcept {
  struct stat status {};
  int bytes = 0;
  return ::fstat(pipe, &status) == 0 && S_ISFIFO(status.st_mode) &&
         ::ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
}

std::string read_text_file(const std::string& path, std::size_t most_bytes, std::string_view what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("open(" + path + ")", errno);
  std::string text(most_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw SystemError("read(" + path + ")", errno);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_bytes) {
    throw_usage("{}: more than {} bytes: no {}", path, most_bytes, what);
  }
  return text;
}

namespace {
/// Whether a quarter of `most` is free with `used` in use.
bool leaves_a_quarter(std::size_t used, std::size_t most) {
  return used + (most + 3) / 4 <= most;
}
}  // namespace

void leave_descriptors(std::size_t more) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const File next(::eventfd(0, EFD_CLOEXEC));
  if (!next && errno != EMFILE) return;  // the limit is not what is in the way
  const std::size_t most = limit.rlim_cur;
  const std::size_t used = (next ? static_cast<std::size_t>(next.get()) : most) + more;
  if (leaves_a_quarter(used, most)) return;
  throw Error(fmt::format("{} of {} descriptors would be in use, and a quarter is the program's",
                          std::min(used, most), most));
}

void leave_addresses(std::size_t more) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  if (!(file >> pages)) return;  // no /proc: the system refuses what is beyond the limit
  const std::size_t most = limit.rlim_cur;
  const std::size_t used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
  if (leaves_a_quarter(used, most)) return;
  throw SystemError(fmt::format("{} of {} MiB of addresses would be in use, and a quarter is the "
                                "program's",
                                used >> 20, most >> 20),
                    ENOMEM);
}

}  // namespace weft
