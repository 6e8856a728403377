#include "engine/node/shared_memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "base/other_build.hpp"
#include "engine/node/slabs.hpp"

namespace weft::engine {

SharedMemory SharedMemory::create(const char* label, std::size_t bytes, MemoryUse use) {
  SharedMemory memory;
  const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), Slab::kPage);
  memory.block_ = Slabs::instance().create(label, whole / Slab::kPage, use);
  return memory;
}

std::string SharedMemory::handle() const {
  return {reinterpret_cast<const char*>(&block_->handle()), sizeof(BlockHandle)};
}

std::size_t SharedMemory::handle_bytes() {
  return sizeof(BlockHandle);
}

SharedMemory SharedMemory::attach(std::string_view bytes, std::size_t least_bytes) {
  BlockHandle handle;
  if (bytes.size() != sizeof handle) throw_other_build("a handle of shared memory", bytes.size());
  std::memcpy(&handle, bytes.data(), sizeof handle);
  SharedMemory memory;
  memory.block_ = Slabs::instance().attach(handle);
  if (memory.size() < least_bytes) {
    throw Error(fmt::format("{} bytes of another rank's shared memory, not {}", memory.size(),
                            least_bytes));
  }
  return memory;
}

std::byte* SharedMemory::data() const noexcept {
  return block_ ? block_->data() : nullptr;
}

std::size_t SharedMemory::size() const noexcept {
  return block_ ? block_->size() : 0;
}

SharedMemory::Whole SharedMemory::slab() const {
  const std::shared_ptr<Slab>& slab = block_->slab();
  const std::uint64_t words = Slab::word_pages(slab->pages());
  return {{slab->at(words), (slab->pages() - words) * Slab::kPage}, slab};
}

std::vector<std::span<const std::byte>> SharedMemory::created(std::string_view label) {
  return Slabs::instance().created(label);
}

}  // namespace weft::engine
