#include "engine/node/slabs.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::engine {

namespace {

/// Sizes of the first slab, and the most of one that is not as large for the sake of one block.
struct SlabSizes {
  std::uint64_t first_pages;
  std::uint64_t most_pages;
};
constexpr SlabSizes slab_sizes(MemoryUse use) {
  // A slab for the device is memory, and locked where it is an adapter's; any other is addresses.
  return use == MemoryUse::device ? SlabSizes{(256 << 10) / Slab::kPage, (32 << 20) / Slab::kPage}
                                  : SlabSizes{(4 << 20) / Slab::kPage, (1 << 30) / Slab::kPage};
}

/// The pages of the next slab: enough for the block, and twice as many as the last has.
std::uint64_t slab_pages_for(std::uint64_t block_pages, std::uint64_t last, SlabSizes sizes) {
  const auto is_enough = [block_pages](std::uint64_t pages) {
    return pages - Slab::word_pages(pages) >= block_pages;
  };
  std::uint64_t pages = std::clamp(2 * last, sizes.first_pages, sizes.most_pages);
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

SharedBlock::~SharedBlock() {
  if (process_ != ::getpid()) return;  // a child of fork: the block is its parent's
  if (label_ != nullptr) {
    Slabs::instance().free(*this);
  } else {
    slab_->detach_block(handle_.first_page, handle_.pages);
  }
}

Slabs& Slabs::instance() {
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

Slabs::Own* Slabs::find_own(const Slab* slab) noexcept {
  for (auto& owns : owns_) {
    const auto own = std::ranges::find(owns, slab, [](const Own& one) { return one.slab.get(); });
    if (own != owns.end()) return &*own;
  }
  return nullptr;
}

/// Pages of a slab, which is made where there is none with room.
std::pair<std::shared_ptr<Slab>, BlockHandle> Slabs::reserve(std::uint64_t pages, MemoryUse use) {
  reclaim();
  for (Own& own : owns(use)) {
    if (!own.slab->has_descriptor()) continue;
    if (const auto first = own.free.take(pages)) return {own.slab, handle_of(own, *first, pages)};
  }
  Own& own = add(pages, use);
  return {own.slab, handle_of(own, *own.free.take(pages), pages)};
}

/// A slab with room for a block of so many pages.
Slabs::Own& Slabs::add(std::uint64_t pages, MemoryUse use) {
  std::uint64_t largest = 0;
  for (const Own& own : owns(use)) largest = std::max(largest, own.slab->pages());
  const auto make = [&](std::uint64_t last) {
    const std::uint64_t slab_pages = slab_pages_for(pages, last, slab_sizes(use));
    const std::uint64_t words = Slab::word_pages(slab_pages);
    auto slab = std::make_shared<Slab>(slab_pages);
    if (use == MemoryUse::device) slab->commit(words, slab_pages - words);
    owns(use).push_back({std::move(slab), use, FreePages(words, slab_pages - words), {}, {}});
  };
  try {
    make(largest);
  } catch (const SystemError&) {
    if (use != MemoryUse::device || largest == 0) throw;
    make(0);  // no larger than it must be
  }
  return owns(use).back();
}

BlockHandle Slabs::handle_of(const Own& own, std::uint64_t first_page, std::uint64_t pages) {
  if (++generation_ == 0) ++generation_;
  const Slab& slab = *own.slab;
  return {process_,     slab.descriptor(),
          slab.token(), slab.pages(),
          first_page,   pages,
          generation_,  static_cast<std::uint64_t>(own.use)};
}

/// A block of the first slab that is committed already.
std::optional<std::uint64_t> Slabs::take_kept(std::uint64_t pages) {
  reclaim();
  auto& owns = this->owns(MemoryUse::node);
  if (owns.empty() || !owns.front().slab->has_descriptor()) return std::nullopt;
  auto& kept = owns.front().kept;
  const auto found = std::ranges::find(kept, pages, &Range::pages);
  if (found == kept.end()) return std::nullopt;
  const std::uint64_t first_page = found->first_page;
  kept.erase(found);
  kept_pages_ -= pages;
  return first_page;
}

std::shared_ptr<const SharedBlock> Slabs::create(const char* label, std::uint64_t pages,
                                                 MemoryUse use) {
  std::unique_lock lock(mutex_);
  if (const auto first_page = use == MemoryUse::node ? take_kept(pages) : std::nullopt) {
    const Own& own = owns(use).front();
    std::memset(own.slab->at(*first_page), 0, pages * Slab::kPage);
    const BlockHandle handle = handle_of(own, *first_page, pages);
    own.slab->open_block(*first_page, static_cast<std::uint32_t>(handle.generation));
    auto block = std::make_shared<const SharedBlock>(own.slab, handle, label);
    blocks_.push_back(block.get());
    return block;
  }
  const auto [slab, handle] = reserve(pages, use);
  // These pages are this thread's: it commits them while others create theirs.
  lock.unlock();
  try {
    if (use == MemoryUse::node) slab->commit(handle.first_page, pages);
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
  for (const auto& owns : owns_) {
    for (const Own& own : owns) {
      if (handle.process == process_ && own.slab->token() == handle.token) return own.slab;
    }
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
      auto& first = first_[{handle.process, handle.for_device}];
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
    Own* own = find_own(block.slab().get());
    const bool is_first = own == owns(MemoryUse::node).data();
    const bool keeps = is_first && kept_pages_ + handle.pages <= kMostKeptPages;
    own->freed.push_back({handle.first_page, handle.pages, keeps});
    if (keeps) kept_pages_ += handle.pages;
    own->slab->close_block(handle.first_page, keeps || own->use == MemoryUse::device);
    reclaim();
  } catch (const std::bad_alloc&) {
    // The block stays as it is, and its pages are not used again.
  }
}

void Slabs::put(const Slab* slab, Range range) {
  find_own(slab)->free.put(range.first_page, range.pages);
}

/// Takes back what was freed and nobody has attached any more. Of slabs without blocks one stays
/// for the next block. A little of the first slab stays committed: programs that make and free
/// communicators one after another use it again, without a system call or a page fault.
void Slabs::reclaim() {
  for (auto& owns : owns_) {
    for (Own& own : owns) {
      std::erase_if(own.freed, [&own](const Range& range) { return take_back(own, range); });
    }
    for (std::size_t i = owns.size(); i-- > 1;) {
      if (owns[i].is_empty()) owns.erase(owns.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// False while somebody has it attached.
bool Slabs::take_back(Own& own, const Range& range) {
  if (!own.slab->is_unused(range.first_page)) return false;
  if (range.is_kept) {
    own.kept.push_back(range);
    return true;
  }
  if (own.use == MemoryUse::device) {
    std::memset(own.slab->at(range.first_page), 0, range.pages * Slab::kPage);
  } else {
    own.slab->clear(range.first_page, range.pages);
  }
  own.free.put(range.first_page, range.pages);
  return true;
}

std::vector<std::span<const std::byte>> Slabs::created(std::string_view label) {
  const std::lock_guard lock(mutex_);
  std::vector<std::span<const std::byte>> result;
  for (const SharedBlock* block : blocks_) {
    if (block->label() == label) result.emplace_back(block->data(), block->size());
  }
  return result;
}

}  // namespace weft::engine
