#include "engine/heap/peer_heap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/foreign_file.hpp"
#include "base/other_build.hpp"
#include "engine/heap/heap.hpp"

namespace weft::engine {

namespace {

struct Handle {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  // Of the file: the descriptor may have been closed, and another opened, since.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

using Identity = std::pair<std::uint64_t, std::uint64_t>;

}  // namespace

/// One mapping. Not for children: they have nothing to do with it.
struct PeerHeap::Attached {
  Attached(int descriptor, std::uint64_t bytes) : size(bytes) {
    leave_addresses(bytes);
    void* mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (mapped == MAP_FAILED) throw_errno(fmt::format("mmap({} bytes of another's heap)", size));
    memory = static_cast<std::byte*>(mapped);
    ::madvise(memory, size, MADV_DONTFORK);
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { ::munmap(memory, size); }

  std::byte* memory = nullptr;
  std::uint64_t size;
};

std::size_t PeerHeap::handle_bytes() {
  return sizeof(Handle);
}

std::string PeerHeap::handle() {
  Handle handle;
  struct stat status {};
  if (heap::descriptor() >= 0 && ::fstat(heap::descriptor(), &status) == 0) {
    handle = {::getpid(),        heap::descriptor(), heap::range.begin,
              heap::range.bytes, status.st_dev,      status.st_ino};
  }
  return {reinterpret_cast<const char*>(&handle), sizeof handle};
}

PeerHeap PeerHeap::attach(std::string_view bytes) {
  Handle handle;
  if (bytes.size() != sizeof handle) throw_other_build("a handle of a heap", bytes.size());
  std::memcpy(&handle, bytes.data(), sizeof handle);
  if (handle.descriptor < 0 || handle.process == ::getpid()) return {};

  static std::mutex mutex;
  // Never destroyed: programs end in any order.
  static auto& known = *new std::map<Identity, std::weak_ptr<const Attached>>;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const Attached>& mine = known[{handle.device, handle.inode}];
  auto attached = mine.lock();
  if (attached == nullptr) {
    const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.descriptor);
    const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) throw_errno(fmt::format("open({}), another rank's heap", path));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || status.st_dev != handle.device ||
        status.st_ino != handle.inode) {
      throw Error(fmt::format("{} is not the heap of process {} any more", path, handle.process));
    }
    const std::string why_not = why_not_safe_to_map(file.get(), handle.bytes);
    if (!why_not.empty()) throw Error(fmt::format("{}, another rank's heap: {}", path, why_not));
    mine = attached = std::make_shared<const Attached>(file.get(), handle.bytes);
  }
  if (attached->size != handle.bytes) {
    throw Error(fmt::format("the heap of process {} has another size", handle.process));
  }
  PeerHeap heap;
  heap.begin_ = handle.begin;
  heap.bytes_ = handle.bytes;
  heap.local_ = reinterpret_cast<std::uint64_t>(attached->memory);
  heap.attached_ = std::move(attached);
  return heap;
}

}  // namespace weft::engine
