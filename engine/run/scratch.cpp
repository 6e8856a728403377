#include "engine/run/scratch.hpp"

#include <utility>

namespace weft::engine {

void Scratch::grow(Slot& slot, std::size_t bytes, bool registers, bool in_use) {
  if (slot.memory.size() < bytes) {
    registers |= slot.lease != nullptr;
    if (in_use) outgrown_.push_back(std::move(slot));
    slot = {};
    slot.memory = SharedMemory::create("weft-scratch", bytes, links_.memory_use());
  }
  if (registers && slot.lease == nullptr) slot.lease = links_.slabs()->of(slot.memory);
}

std::uint64_t Scratch::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += slot.memory.size();
  for (const Slot& slot : outgrown_) bytes += slot.memory.size();
  return bytes;
}

}  // namespace weft::engine
