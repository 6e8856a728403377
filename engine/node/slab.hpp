// Slab: a memory file of fixed size from which a process gives out blocks of shared memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/file.hpp"

namespace weft::engine {

/// Identifies a block of a slab to other processes. It counts pages of Slab::kPage bytes.
struct BlockHandle {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;  // of the slab, in that process
  std::uint64_t token = 0;       // random: tells the slab from every other file
  std::uint64_t slab_pages = 0;
  std::uint64_t first_page = 0;
  std::uint64_t pages = 0;
  std::uint64_t generation = 0;  // of the block: no later block in its place has the same
  std::uint64_t for_device = 0;  // 1: of a slab whose memory stays as it is (MemoryUse::device)
};

/// Mapped once by its owner and once by each process that has a block of it attached. The pages at
/// its beginning have a 64-bit word for each page of the slab. The word of a block's first page
/// holds the block's generation in its upper half (0: freed by its owner) and the number of its
/// attachments in the lower one, below a bit that says that the owner keeps the memory of a freed
/// block for the next one. The first word is the token.
///
/// The size is sealed, so that a peer cannot make the file shorter under those that have it mapped.
class Slab {
 public:
  static constexpr std::size_t kPage = 4096;

  /// A new slab of so many pages, none of them committed but those of the words. SystemError.
  explicit Slab(std::uint64_t pages);
  /// The slab of another process. Nothing is believed that the file itself does not confirm. Error,
  /// and SystemError when the system does not let this process open it.
  explicit Slab(const BlockHandle& handle);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  /// The pages that the words of a slab of `pages` take.
  static constexpr std::uint64_t word_pages(std::uint64_t pages) {
    return (pages * sizeof(std::uint64_t) + kPage - 1) / kPage;
  }

  std::uint64_t pages() const noexcept { return mapping_.size() / kPage; }
  std::uint64_t token() const noexcept { return word(0).load(std::memory_order_relaxed); }
  int descriptor() const noexcept { return file_.get(); }  // the owner's only; else -1
  /// By the owner: the descriptor is still this file's. Programs close descriptors that they do not
  /// know, and open files of their own under the same number.
  bool has_descriptor() const noexcept;
  std::byte* at(std::uint64_t page) const noexcept { return mapping_.data() + page * kPage; }

  /// Takes memory for these pages, on this thread's NUMA node: touching them later cannot raise
  /// SIGBUS. They are zero. SystemError when there is not enough; then none is taken.
  void commit(std::uint64_t first_page, std::uint64_t pages);
  /// Makes these pages zero again, and gives their memory back where the system allows it (not that
  /// of a process that has locked its memory).
  void clear(std::uint64_t first_page, std::uint64_t pages) noexcept;

  /// By the owner: the block that begins there exists.
  void open_block(std::uint64_t first_page, std::uint32_t generation) noexcept;
  /// By the owner: nobody can attach the block any more. `keeps`: its memory stays committed.
  void close_block(std::uint64_t first_page, bool keeps) noexcept;
  /// Closed, and nobody has it attached.
  bool is_unused(std::uint64_t first_page) const noexcept {
    return (word(first_page).load(std::memory_order_acquire) & ~kKept) == 0;
  }
  /// Error when the handle is not that of a block, or its owner has freed it.
  void attach_block(const BlockHandle& handle);
  /// The last to detach a block that its owner has freed, and does not keep, gives its memory back.
  void detach_block(std::uint64_t first_page, std::uint64_t pages) noexcept;

 private:
  static constexpr std::uint64_t kKept = std::uint64_t{1} << 31;

  bool give_back(std::uint64_t first_page, std::uint64_t pages) const noexcept;
  std::atomic<std::uint64_t>& word(std::uint64_t page) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(mapping_.data())[page];
  }

  File file_;  // the owner's only
  dev_t device_ = 0;
  ino_t inode_ = 0;
  Mapping mapping_;
};

/// Free ranges of pages of one slab. Takes the first that is large enough.
class FreePages {
 public:
  FreePages(std::uint64_t first_page, std::uint64_t pages) : ranges_{{first_page, pages}} {}
  std::optional<std::uint64_t> take(std::uint64_t pages);
  void put(std::uint64_t first_page, std::uint64_t pages);
  /// True when all pages of this range are free, and it touches no other.
  bool has_all(std::uint64_t first_page, std::uint64_t pages) const noexcept;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // pages, by first page; none touch
};

}  // namespace weft::engine
