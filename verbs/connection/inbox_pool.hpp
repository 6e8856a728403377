// Inbox pool: registered memory for the inboxes and outboxes of wires, taken in blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "verbs/connection/registration.hpp"

namespace weft::verbs {

/// Has few memory files, each registered once with all rails, whatever the number of wires. Memory
/// files, so that the software device can write them by plain stores; to hardware they are memory
/// like any other. Thread safe.
class InboxPool {
 public:
  explicit InboxPool(Endpoint& endpoint) : endpoint_(endpoint) {}
  InboxPool(const InboxPool&) = delete;
  InboxPool& operator=(const InboxPool&) = delete;

  /// Bytes of a block: an inbox and an outbox behind it.
  static std::size_t block_bytes();

  /// Owns a block, and gives it back. The pool outlives it.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block();
    std::byte* data() const noexcept { return data_; }
    const Region& region() const noexcept { return *region_; }

   private:
    friend class InboxPool;
    InboxPool* pool_ = nullptr;
    std::byte* data_ = nullptr;
    const Region* region_ = nullptr;
  };
  /// Zero. SystemError when memory or its registration is refused.
  Block take();

 private:
  struct Chunk {
    Mapping memory;
    Registration registration;
    Region region;
  };
  void grow();
  void add(std::size_t blocks);

  Endpoint& endpoint_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  struct Free {
    std::byte* data;
    const Region* region;
    bool is_zero;
  };
  std::vector<Free> free_;
  std::size_t blocks_ = 0;
};

}  // namespace weft::verbs
