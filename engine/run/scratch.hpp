// Scratch: the memory of an executor that plans call scratch. Two slots, for the two executions
// that may have entered. The first is as large as the largest program needs, the second is made
// like it when an execution is first to go on beside another.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/node/shared_memory.hpp"
#include "engine/run/links.hpp"

namespace weft::engine {

class Scratch {
 public:
  explicit Scratch(Links& links) : links_(links) {}

  std::byte* memory(std::size_t slot) const noexcept { return slots_[slot].memory.data(); }
  /// For messages from and to it; 0 where it is not registered.
  std::uint32_t key(std::size_t slot) const noexcept {
    return slots_[slot].lease == nullptr ? 0 : slots_[slot].lease->lkey();
  }

  /// Whether the first slot has so many bytes, registered where `registers` says so.
  bool has(std::size_t bytes, bool registers) const noexcept {
    return slots_[0].memory.size() >= bytes && (!registers || slots_[0].lease != nullptr);
  }
  /// Makes it so. `in_use`: executions are under way, and keep the memory that they have until
  /// release_outgrown(). Error where there is no memory.
  void provide(std::size_t bytes, bool registers, bool in_use) {
    grow(slots_[0], bytes, registers, in_use);
  }
  /// Makes the second slot like the first.
  void provide_second() {
    grow(slots_[1], slots_[0].memory.size(), slots_[0].lease != nullptr, true);
  }
  /// When nothing is under way.
  void release_outgrown() noexcept { outgrown_.clear(); }
  /// Of all of it.
  std::uint64_t bytes() const noexcept;

 private:
  struct Slot {
    SharedMemory memory;
    SlabRegistrations::Lease lease;  // null: not registered
  };
  void grow(Slot& slot, std::size_t bytes, bool registers, bool in_use);

  Links& links_;
  std::array<Slot, 2> slots_;
  std::vector<Slot> outgrown_;
};

}  // namespace weft::engine
