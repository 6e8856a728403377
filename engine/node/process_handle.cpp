#include "engine/node/process_handle.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <new>

namespace weft::engine {

std::shared_ptr<const ProcessHandle> ProcessHandle::of(pid_t process) noexcept {
  static std::mutex mutex;
  static auto& known = *new std::map<pid_t, std::weak_ptr<const ProcessHandle>>;
  try {
    const std::lock_guard lock(mutex);
    auto& entry = known[process];
    auto handle = entry.lock();
    // The number of a process that has ended may be another's by now.
    if (handle != nullptr && !handle->has_ended()) return handle;
    File file(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!file && errno != ESRCH) return nullptr;
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

}  // namespace weft::engine
