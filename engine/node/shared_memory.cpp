#include "engine/node/shared_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "engine/node/slab.hpp"

namespace weft::engine {

namespace {

constexpr std::uint64_t kFirstSlabPages = (4 << 20) / Slab::kPage;
// Of slabs that are not as large for the sake of one block.
constexpr std::uint64_t kMostSlabPages = (1 << 30) / Slab::kPage;

/// The pages of the next slab: enough for the block, and twice as many as the last has.
std::uint64_t slab_pages_for(std::uint64_t block_pages, std::uint64_t last) {
  const auto is_enough = [block_pages](std::uint64_t pages) {
    return pages - Slab::word_pages(pages) >= block_pages;
  };
  std::uint64_t pages = std::clamp(2 * last, kFirstSlabPages, kMostSlabPages);
  while (!is_enough(pages)) pages *= 2;
  // A file that is longer than allowed would end the program by SIGXFSZ.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return pages;
  const std::uint64_t most = limit.rlim_cur / Slab::kPage;
  if (pages <= most) return pages;
  if (is_enough(most)) return most;
  throw SystemError(fmt::format("{} bytes of shared memory, RLIMIT_FSIZE is {}",
                                block_pages * Slab::kPage, limit.rlim_cur),
                    EFBIG);
}

// Of freed blocks that stay committed: a communicator's or two.
constexpr std::uint64_t kMostKeptPages = 40;

}  // namespace

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
  const Slab* slab() const noexcept { return slab_.get(); }
  std::byte* data() const noexcept { return slab_->at(handle_.first_page); }
  std::size_t size() const noexcept { return handle_.pages * Slab::kPage; }

 private:
  std::shared_ptr<Slab> slab_;
  BlockHandle handle_;
  const char* label_;  // null: attached
  pid_t process_ = ::getpid();
};

namespace {

/// The slabs of this process, and those of others that it has mapped. Thread safe.
class Slabs {
 public:
  /// Never destroyed, as blocks may live in static variables. A child of fork gets a new one: what
  /// it inherits belongs to its parent, and another thread may have been changing it.
  static Slabs& instance() {
    static std::atomic<Slabs*> latest{nullptr};
    const pid_t process = ::getpid();
    Slabs* slabs = latest.load(std::memory_order_acquire);
    while (slabs == nullptr || slabs->process_ != process) {
      auto* made = new Slabs;
      if (latest.compare_exchange_strong(slabs, made, std::memory_order_acq_rel)) return *made;
      delete made;
    }
    return *slabs;
  }

  std::shared_ptr<const SharedBlock> create(const char* label, std::uint64_t pages);
  std::shared_ptr<const SharedBlock> attach(const BlockHandle& handle);
  void free(const SharedBlock& block) noexcept;
  std::vector<std::span<const std::byte>> created(std::string_view label);

 private:
  struct Range {
    std::uint64_t first_page;
    std::uint64_t pages;
    bool is_kept = false;  // its memory stays committed
  };
  struct Own {
    std::shared_ptr<Slab> slab;
    FreePages free;
    std::vector<Range> freed;  // blocks that peers may still have attached
    std::vector<Range> kept;   // free, but committed: for the next blocks of their sizes
    bool is_empty() const {
      const std::uint64_t words = Slab::word_pages(slab->pages());
      return free.has_all(words, slab->pages() - words);
    }
  };

  std::pair<std::shared_ptr<Slab>, BlockHandle> reserve(std::uint64_t pages);
  std::optional<std::uint64_t> take_kept(std::uint64_t pages);
  BlockHandle handle_of(const Slab& slab, std::uint64_t first_page, std::uint64_t pages);
  void put(const Slab* slab, Range range);
  std::shared_ptr<Slab> find(const BlockHandle& handle);
  void reclaim();

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::vector<Own> owns_;
  std::vector<const SharedBlock*> blocks_;  // created, in order
  std::uint32_t generation_ = 0;
  std::uint64_t kept_pages_ = 0;  // of blocks that are kept, or will be
  using Key = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;  // process, descriptor, token
  std::map<Key, std::weak_ptr<Slab>> peers_;
  std::map<std::int64_t, std::shared_ptr<Slab>> first_;  // of each peer: stays mapped
};

/// Pages of a slab, which is made where there is none with room.
std::pair<std::shared_ptr<Slab>, BlockHandle> Slabs::reserve(std::uint64_t pages) {
  reclaim();
  std::uint64_t largest = 0;
  std::optional<std::uint64_t> first;
  Own* own = nullptr;
  for (Own& one : owns_) {
    largest = std::max(largest, one.slab->pages());
    if (!one.slab->has_descriptor()) continue;
    own = &one;
    first = one.free.take(pages);
    if (first) break;
  }
  if (!first) {
    const std::uint64_t slab_pages = slab_pages_for(pages, largest);
    const std::uint64_t words = Slab::word_pages(slab_pages);
    owns_.push_back(
        {std::make_shared<Slab>(slab_pages), FreePages(words, slab_pages - words), {}, {}});
    own = &owns_.back();
    first = own->free.take(pages);
  }
  return {own->slab, handle_of(*own->slab, *first, pages)};
}

BlockHandle Slabs::handle_of(const Slab& slab, std::uint64_t first_page, std::uint64_t pages) {
  if (++generation_ == 0) ++generation_;
  return {process_, slab.descriptor(), slab.token(), slab.pages(), first_page, pages, generation_};
}

/// A block of the first slab that is committed already.
std::optional<std::uint64_t> Slabs::take_kept(std::uint64_t pages) {
  reclaim();
  if (owns_.empty() || !owns_.front().slab->has_descriptor()) return std::nullopt;
  auto& kept = owns_.front().kept;
  const auto found = std::ranges::find(kept, pages, &Range::pages);
  if (found == kept.end()) return std::nullopt;
  const std::uint64_t first_page = found->first_page;
  kept.erase(found);
  kept_pages_ -= pages;
  return first_page;
}

std::shared_ptr<const SharedBlock> Slabs::create(const char* label, std::uint64_t pages) {
  std::unique_lock lock(mutex_);
  if (const auto first_page = take_kept(pages)) {
    const std::shared_ptr<Slab> slab = owns_.front().slab;
    std::memset(slab->at(*first_page), 0, pages * Slab::kPage);
    const BlockHandle handle = handle_of(*slab, *first_page, pages);
    slab->open_block(*first_page, static_cast<std::uint32_t>(handle.generation));
    auto block = std::make_shared<const SharedBlock>(slab, handle, label);
    blocks_.push_back(block.get());
    return block;
  }
  const auto [slab, handle] = reserve(pages);
  // These pages are this thread's: it commits them while others create theirs.
  lock.unlock();
  try {
    slab->commit(handle.first_page, pages);
  } catch (...) {
    lock.lock();
    put(slab.get(), {handle.first_page, pages});
    throw;
  }
  slab->open_block(handle.first_page, static_cast<std::uint32_t>(handle.generation));
  auto block = std::make_shared<const SharedBlock>(slab, handle, label);
  lock.lock();
  blocks_.push_back(block.get());
  return block;
}

std::shared_ptr<const SharedBlock> Slabs::attach(const BlockHandle& handle) {
  std::shared_ptr<Slab> slab;
  {
    const std::lock_guard lock(mutex_);
    slab = find(handle);
  }
  return std::make_shared<const SharedBlock>(std::move(slab), handle);
}

/// The slab that a handle names. Ranks in one address space that have a copy of this library each
/// do not find one another's, and map them again.
std::shared_ptr<Slab> Slabs::find(const BlockHandle& handle) {
  for (const Own& own : owns_) {
    if (handle.process == process_ && own.slab->token() == handle.token) return own.slab;
  }
  std::weak_ptr<Slab>& known = peers_[{handle.process, handle.descriptor, handle.token}];
  std::shared_ptr<Slab> slab = known.lock();
  if (slab == nullptr) {
    std::erase_if(peers_, [&](const auto& entry) {
      return &entry.second != &known && entry.second.expired();
    });
    slab = std::make_shared<Slab>(handle);
    known = slab;
    if (handle.process != process_) {
      auto& first = first_[handle.process];
      if (first == nullptr || first.use_count() == 1) first = slab;
    }
  }
  if (slab->pages() != handle.slab_pages) throw Error("a block of another size of slab");
  return slab;
}

void Slabs::free(const SharedBlock& block) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    std::erase(blocks_, &block);
    const auto& handle = block.handle();
    const auto own =
        std::ranges::find(owns_, block.slab(), [](const Own& one) { return one.slab.get(); });
    const bool keeps = own == owns_.begin() && kept_pages_ + handle.pages <= kMostKeptPages;
    own->freed.push_back({handle.first_page, handle.pages, keeps});
    if (keeps) kept_pages_ += handle.pages;
    own->slab->close_block(handle.first_page, keeps);
    reclaim();
  } catch (const std::bad_alloc&) {
    // The block stays as it is, and its pages are not used again.
  }
}

void Slabs::put(const Slab* slab, Range range) {
  const auto own = std::ranges::find(owns_, slab, [](const Own& one) { return one.slab.get(); });
  own->free.put(range.first_page, range.pages);
}

/// Takes back what was freed and nobody has attached any more. Of slabs without blocks one stays
/// for the next block. A little of the first slab stays committed: programs that make and free
/// communicators one after another use it again, without a system call or a page fault.
void Slabs::reclaim() {
  for (Own& own : owns_) {
    std::erase_if(own.freed, [&own](const Range& range) {
      if (!own.slab->is_unused(range.first_page)) return false;
      if (range.is_kept) {
        own.kept.push_back(range);
        return true;
      }
      own.slab->clear(range.first_page, range.pages);
      own.free.put(range.first_page, range.pages);
      return true;
    });
  }
  for (std::size_t i = owns_.size(); i-- > 1;) {
    if (owns_[i].is_empty()) owns_.erase(owns_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<std::span<const std::byte>> Slabs::created(std::string_view label) {
  const std::lock_guard lock(mutex_);
  std::vector<std::span<const std::byte>> result;
  for (const SharedBlock* block : blocks_) {
    if (block->label() == label) result.emplace_back(block->data(), block->size());
  }
  return result;
}

}  // namespace

SharedBlock::~SharedBlock() {
  if (process_ != ::getpid()) return;  // a child of fork: the block is its parent's
  if (label_ != nullptr) {
    Slabs::instance().free(*this);
  } else {
    slab_->detach_block(handle_.first_page, handle_.pages);
  }
}

SharedMemory SharedMemory::create(const char* label, std::size_t bytes) {
  SharedMemory memory;
  const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), Slab::kPage);
  memory.block_ = Slabs::instance().create(label, whole / Slab::kPage);
  return memory;
}

std::string SharedMemory::handle() const {
  return {reinterpret_cast<const char*>(&block_->handle()), sizeof(BlockHandle)};
}

std::size_t SharedMemory::handle_bytes() {
  return sizeof(BlockHandle);
}

SharedMemory SharedMemory::attach(std::string_view bytes) {
  BlockHandle handle;
  if (bytes.size() != sizeof handle) throw Error("shared memory handle of a different build");
  std::memcpy(&handle, bytes.data(), sizeof handle);
  SharedMemory memory;
  memory.block_ = Slabs::instance().attach(handle);
  return memory;
}

std::byte* SharedMemory::data() const noexcept {
  return block_ ? block_->data() : nullptr;
}

std::size_t SharedMemory::size() const noexcept {
  return block_ ? block_->size() : 0;
}

std::vector<std::span<const std::byte>> SharedMemory::created(std::string_view label) {
  return Slabs::instance().created(label);
}

}  // namespace weft::engine
