#include "base/process_handle.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <new>

namespace weft {

std::shared_ptr<const ProcessHandle> ProcessHandle::of(const ProcessId& process) noexcept {
  static std::mutex mutex;
  try {
    static auto& known = *new std::map<ProcessId, std::weak_ptr<const ProcessHandle>>;
    const std::lock_guard lock(mutex);
    auto& entry = known[process];
    auto handle = entry.lock();
    if (handle != nullptr && !handle->has_ended()) return handle;
    File file(static_cast<int>(::syscall(SYS_pidfd_open, process.number, 0)));
    if (!file && errno != ESRCH) return nullptr;
    // Whichever process this is of, the number is its until it has ended. So /proc is asked now.
    if (file && is_another(process)) file.reset();
    std::erase_if(known,
                  [&](const auto& one) { return one.first != process && one.second.expired(); });
    handle = std::make_shared<const ProcessHandle>(std::move(file));
    entry = handle;
    return handle;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool ProcessHandle::has_ended() const noexcept {
  if (!file_) return true;
  pollfd entry{file_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace weft
