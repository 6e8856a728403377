// Mapping of another process's shared heap, on the same host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft::engine {

/// Another process's heap as this one maps it, at an address of its own. A value that shares the
/// mapping: a process has one for each peer, however many communicators use it. Empty when the peer
/// has no heap.
class PeerHeap {
 public:
  /// Describes this process's heap, or says that there is none. Of fixed size.
  static std::string handle();
  static std::size_t handle_bytes();
  /// From the bytes of another process's handle(). Empty when that process has no heap, or is this
  /// one. SystemError when the system does not let this process open it, and Error when the file is
  /// not what the handle says, another user's, or one that could be made shorter.
  static PeerHeap attach(std::string_view bytes);

  explicit operator bool() const noexcept { return local_ != 0; }
  /// Where this process finds `bytes` that lie at `address` of the other; null when they do not lie
  /// in its heap. The other process has to tell when it has mapped something else over a
  /// part of it (heap::overlaid).
  std::byte* find(std::uint64_t address, std::uint64_t bytes) const noexcept {
    const std::uint64_t offset = address - begin_;
    if (offset >= bytes_ || bytes > bytes_ - offset) return nullptr;
    return reinterpret_cast<std::byte*>(local_ + offset);
  }

 private:
  struct Attached;
  std::shared_ptr<const Attached> attached_;
  std::uint64_t begin_ = 0;  // in the other process
  std::uint64_t bytes_ = 0;
  std::uint64_t local_ = 0;
};

}  // namespace weft::engine
