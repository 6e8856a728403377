// Shared-memory wire: a wire (verbs/channel/wire.hpp) between two ranks of a node.
#pragma once

#include "engine/node/node_control.hpp"
#include "engine/node/shared_memory.hpp"
#include "verbs/channel/wire.hpp"

namespace weft::engine {

/// The outbox is the peer's inbox itself: a commit is one store. Puts write the peer's buffers by
/// the best view of them. Shares ownership of the memory of both inboxes.
class ShmWire final : public verbs::Wire {
 public:
  /// The bytes of an inbox.
  static std::size_t inbox_bytes(const NodeControl& node) noexcept;

  /// `mine` at `my_offset` is this rank's inbox, `theirs` at `their_offset` that of the rank at
  /// `place`. Error where that is no place for an inbox.
  ShmWire(NodeControl& node, int place, SharedMemory mine, std::size_t my_offset,
          SharedMemory theirs, std::size_t their_offset);

  verbs::Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override;
  bool can_put() const noexcept override { return node_.peers().view() != View::staged; }
  verbs::Status put(std::uint64_t remote, const verbs::RemoteKeys& keys, const std::byte* local,
                    std::uint32_t local_key, std::size_t bytes) noexcept override;
  verbs::Status poll() noexcept override { return verbs::Status::ok; }
  const char* failure() const noexcept override { return failure_; }

 private:
  bool put_in_place(const verbs::Layout& theirs, const std::byte* local) noexcept;

  NodeControl& node_;
  int place_;
  SharedMemory mine_;
  SharedMemory theirs_;
  const char* failure_ = "";
};

}  // namespace weft::engine
