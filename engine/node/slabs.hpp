// Slabs: the memory files of a process, and those of others that it has mapped.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/node/shared_memory.hpp"
#include "engine/node/slab.hpp"

namespace weft::engine {

/// A block as its creator has it, or as somebody who has attached it.
class SharedBlock {
 public:
  /// Attaches it. Error as Slab::attach_block().
  SharedBlock(std::shared_ptr<Slab> slab, const BlockHandle& handle)
      : SharedBlock(std::move(slab), handle, nullptr) {
    slab_->attach_block(handle);
  }
  /// Just created.
  SharedBlock(std::shared_ptr<Slab> slab, const BlockHandle& handle, const char* label)
      : slab_(std::move(slab)), handle_(handle), label_(label) {}
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;
  ~SharedBlock();

  const BlockHandle& handle() const noexcept { return handle_; }
  const char* label() const noexcept { return label_; }
  const std::shared_ptr<Slab>& slab() const noexcept { return slab_; }
  std::byte* data() const noexcept { return slab_->at(handle_.first_page); }
  std::size_t size() const noexcept { return handle_.pages * Slab::kPage; }

 private:
  std::shared_ptr<Slab> slab_;
  BlockHandle handle_;
  const char* label_;  // null: attached
  pid_t process_ = ::getpid();
};

/// The slabs of this process, and those of others that it has mapped. Thread safe.
class Slabs {
 public:
  /// Never destroyed, as blocks may live in static variables. A child of fork gets a new one: what
  /// it inherits belongs to its parent, and another thread may have been changing it.
  static Slabs& instance();

  /// As SharedMemory::create(), of whole pages.
  std::shared_ptr<const SharedBlock> create(const char* label, std::uint64_t pages, MemoryUse use);
  /// As SharedMemory::attach().
  std::shared_ptr<const SharedBlock> attach(const BlockHandle& handle);
  /// By a block that create() made, at its end.
  void free(const SharedBlock& block) noexcept;
  /// As SharedMemory::created().
  std::vector<std::span<const std::byte>> created(std::string_view label);

 private:
  struct Range {
    std::uint64_t first_page;
    std::uint64_t pages;
    bool is_kept = false;  // its memory stays committed
  };
  struct Own {
    std::shared_ptr<Slab> slab;
    MemoryUse use;
    FreePages free;
    std::vector<Range> freed;  // blocks that peers may still have attached
    std::vector<Range> kept;   // free, but committed: for the next blocks of their sizes
    bool is_empty() const {
      const std::uint64_t words = Slab::word_pages(slab->pages());
      return free.has_all(words, slab->pages() - words);
    }
  };

  std::vector<Own>& owns(MemoryUse use) { return owns_[static_cast<std::size_t>(use)]; }
  Own* find_own(const Slab* slab) noexcept;
  std::pair<std::shared_ptr<Slab>, BlockHandle> reserve(std::uint64_t pages, MemoryUse use);
  Own& add(std::uint64_t pages, MemoryUse use);
  std::optional<std::uint64_t> take_kept(std::uint64_t pages);
  BlockHandle handle_of(const Own& own, std::uint64_t first_page, std::uint64_t pages);
  void put(const Slab* slab, Range range);
  std::shared_ptr<Slab> find(const BlockHandle& handle);
  void reclaim();
  static bool take_back(Own& own, const Range& range);

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::array<std::vector<Own>, 2> owns_;    // by use
  std::vector<const SharedBlock*> blocks_;  // created, in order
  std::uint32_t generation_ = 0;
  std::uint64_t kept_pages_ = 0;  // of blocks that are kept, or will be
  using Key = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;  // process, descriptor, token
  std::map<Key, std::weak_ptr<Slab>> peers_;
  // The first of each peer, by use: stays mapped.
  std::map<std::pair<std::int64_t, std::uint64_t>, std::shared_ptr<Slab>> first_;
};

}  // namespace weft::engine
