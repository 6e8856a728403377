// Shared memory: blocks that one rank creates and the ranks of its node attach.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace weft::engine {

class SharedBlock;

/// Who uses a block.
enum class MemoryUse : std::uint8_t {
  node,    ///< Ranks of the node. Its memory is taken when it is made, and given back with it.
  device,  ///< The device, too. Its slab has all of its memory from its beginning to its end, so
           ///< that a registration of the slab serves all blocks in it, those to come included.
};

/// A block of whole pages. A process has few memory files for all of its blocks (see slab.hpp), and
/// maps those of another process once: descriptors and mappings grow with the number of neighbours
/// and the logarithm of their memory, not with the number of blocks. The files have no names that
/// could be left behind, and are freed with their last owner.
///
/// A value that shares ownership: the block lives until its creator and all that have it attached
/// have let go of it. What a process that has died had attached is not used again before its owner
/// ends. Ranks that are threads of one process share one mapping, so that addresses mean the same
/// to all of them. A child of fork may use the blocks that it inherits and let go of them: the
/// parent's are untouched by that. Thread safe, each value apart.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Zero at the beginning, all of it committed. SystemError when there is not enough memory.
  /// `label` outlives everything.
  static SharedMemory create(const char* label, std::size_t bytes, MemoryUse use = MemoryUse::node);
  /// From another rank's handle(). SystemError when the system does not let this process open it;
  /// Error when the rank's process has ended, or the block has less than `least_bytes`.
  static SharedMemory attach(std::string_view bytes, std::size_t least_bytes = 0);

  /// For attach(), while this object lives. Of fixed size.
  std::string handle() const;
  static std::size_t handle_bytes();
  std::byte* data() const noexcept;
  std::size_t size() const noexcept;
  /// The memory of all blocks of its slab, which stays mapped while `owner` lives.
  struct Whole {
    std::span<std::byte> memory;
    std::shared_ptr<const void> owner;
  };
  Whole slab() const;

  /// The living blocks that this process has created under this label, in the order of their
  /// creation; they must go on living while the result is used. For tests.
  static std::vector<std::span<const std::byte>> created(std::string_view label);

 private:
  std::shared_ptr<const SharedBlock> block_;
};

}  // namespace weft::engine
