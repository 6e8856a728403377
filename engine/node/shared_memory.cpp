#include "engine/node/shared_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::engine {

namespace {

struct Handle {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t bytes = 0;
};

/// What this process has created, by descriptor: so its threads find the mapping itself. Ranks in
/// one address space that have a copy of this library each do not find one another's, and map it
/// again.
class Created {
 public:
  static Created& instance() {
    static Created created;
    return created;
  }
  void add(int descriptor, const std::shared_ptr<Mapping>& mapping) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_descriptor_, [](const auto& entry) { return entry.second.expired(); });
    by_descriptor_[descriptor] = mapping;
  }
  std::shared_ptr<Mapping> find(int descriptor) {
    const std::lock_guard lock(mutex_);
    const auto found = by_descriptor_.find(descriptor);
    return found == by_descriptor_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<int, std::weak_ptr<Mapping>> by_descriptor_;
};

}  // namespace

SharedMemory SharedMemory::create(const char* label, std::size_t bytes) {
  SharedMemory memory;
  bytes = round_up(std::max<std::size_t>(bytes, 1), std::size_t{4096});
  memory.file_ = std::make_shared<File>(make_memory_file(label, bytes));
  memory.mapping_ = std::make_shared<Mapping>(memory.file_->get(), bytes);
  Created::instance().add(memory.file_->get(), memory.mapping_);
  return memory;
}

std::string SharedMemory::handle() const {
  const Handle handle{::getpid(), file_->get(), size()};
  return {reinterpret_cast<const char*>(&handle), sizeof handle};
}

SharedMemory SharedMemory::attach(std::string_view bytes) {
  Handle handle;
  if (bytes.size() != sizeof handle) throw Error("shared memory handle of a different build");
  std::memcpy(&handle, bytes.data(), sizeof handle);
  SharedMemory memory;
  const bool is_ours = handle.process == ::getpid();
  if (is_ours) memory.mapping_ = Created::instance().find(static_cast<int>(handle.descriptor));
  if (memory.mapping_ != nullptr) return memory;
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.descriptor);
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && is_ours) throw Error("shared memory of a rank that has ended");
  if (!file) throw_errno(fmt::format("open({}), another rank's shared memory", path));
  memory.mapping_ = std::make_shared<Mapping>(file.get(), handle.bytes);
  return memory;
}

}  // namespace weft::engine
