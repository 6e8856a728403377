#include "engine/node/slab.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/error.hpp"
#include "base/foreign_file.hpp"
#include "base/random.hpp"

namespace weft::engine {

namespace {

constexpr std::uint64_t kOneAttachment = 1;
constexpr int kGenerationShift = 32;
constexpr std::uint64_t kAttachments = (std::uint64_t{1} << (kGenerationShift - 1)) - 1;
// The kernel takes back all that a call has committed when a signal interrupts it: pieces are
// small enough to get done between two signals of a profiler's timer.
constexpr std::uint64_t kPiecePages = 256;

/// What a handle names is no longer there: mostly as its rank has ended.
[[noreturn]] void throw_gone(const BlockHandle& handle, std::string_view why) {
  throw Error(fmt::format("shared memory of process {}, descriptor {}, is gone: {}", handle.process,
                          handle.descriptor, why));
}

File open_peers(const BlockHandle& handle) {
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.descriptor);
  File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && handle.process == ::getpid()) throw_gone(handle, "it was of this process");
  if (!file) throw_errno(fmt::format("open({}), another rank's shared memory", path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_errno(fmt::format("fstat({})", path));
  const auto pages = static_cast<std::uint64_t>(status.st_size) / Slab::kPage;
  const std::string why = why_not_safe_to_map(file.get(), handle.slab_pages * Slab::kPage);
  if (!why.empty()) throw_gone(handle, why);
  if (pages != handle.slab_pages || pages == 0) {
    throw_gone(handle, fmt::format("{} pages, not {}", pages, handle.slab_pages));
  }
  return file;
}

}  // namespace

Slab::Slab(std::uint64_t pages) {
  File file(::memfd_create("weft-slab", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw_errno("memfd_create(weft-slab)");
  const std::size_t bytes = pages * kPage;
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw_errno(fmt::format("ftruncate(weft-slab, {} bytes)", bytes));
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw_errno("fcntl(weft-slab, F_ADD_SEALS)");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_errno("fstat(weft-slab)");
  file_ = std::move(file);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  mapping_ = Mapping(file_.get(), bytes);
  commit(0, word_pages(pages));
  word(0).store(random_token(), std::memory_order_relaxed);
}

Slab::Slab(const BlockHandle& handle) {
  const File file = open_peers(handle);
  mapping_ = Mapping(file.get(), handle.slab_pages * kPage);
  if (token() != handle.token) throw_gone(handle, "another has the descriptor by now");
}

Slab::~Slab() {
  if (file_ && !has_descriptor()) file_.release();
}

bool Slab::has_descriptor() const noexcept {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void Slab::commit(std::uint64_t first_page, std::uint64_t pages) {
  std::uint64_t done = 0;
  while (done < pages) {
    const std::uint64_t piece = std::min(kPiecePages, pages - done);
    if (!has_descriptor()) throw Error("the program has closed a descriptor of weft");
    if (::fallocate(file_.get(), 0, static_cast<off_t>((first_page + done) * kPage),
                    static_cast<off_t>(piece * kPage)) == 0) {
      done += piece;
    } else if (errno != EINTR) {
      const int error = errno;
      if (done != 0) give_back(first_page, done);
      throw SystemError(fmt::format("fallocate({} bytes of shared memory)", pages * kPage), error);
    }
  }
}

bool Slab::give_back(std::uint64_t first_page, std::uint64_t pages) const noexcept {
  // By address: the descriptor may be the program's by now.
  int status = -1;
  do {
    status = ::madvise(at(first_page), pages * kPage, MADV_REMOVE);
  } while (status != 0 && (errno == EINTR || errno == EAGAIN));
  return status == 0;
}

void Slab::clear(std::uint64_t first_page, std::uint64_t pages) noexcept {
  if (!give_back(first_page, pages)) std::memset(at(first_page), 0, pages * kPage);
}

void Slab::open_block(std::uint64_t first_page, std::uint32_t generation) noexcept {
  word(first_page).store(std::uint64_t{generation} << kGenerationShift, std::memory_order_release);
}

void Slab::close_block(std::uint64_t first_page, bool keeps) noexcept {
  std::uint64_t now = word(first_page).load(std::memory_order_relaxed);
  while (!word(first_page)
              .compare_exchange_weak(now, (now & kAttachments) | (keeps ? kKept : 0),
                                     std::memory_order_acq_rel)) {
  }
}

void Slab::attach_block(const BlockHandle& handle) {
  const std::uint64_t first = word_pages(pages());
  const bool is_inside = handle.first_page >= first && handle.first_page < pages() &&
                         handle.pages > 0 && handle.pages <= pages() - handle.first_page;
  if (!is_inside || handle.generation == 0) throw_gone(handle, "no block of it");
  std::uint64_t now = word(handle.first_page).load(std::memory_order_acquire);
  do {
    if (now >> kGenerationShift != handle.generation) throw_gone(handle, "a block freed since");
  } while (!word(handle.first_page)
                .compare_exchange_weak(now, now + kOneAttachment, std::memory_order_acq_rel));
}

void Slab::detach_block(std::uint64_t first_page, std::uint64_t pages) noexcept {
  // Freed, and nobody else: nobody can come to it any more until this attachment goes.
  if (word(first_page).load(std::memory_order_acquire) == kOneAttachment) {
    give_back(first_page, pages);
  }
  word(first_page).fetch_sub(kOneAttachment, std::memory_order_acq_rel);
}

bool FreePages::has_all(std::uint64_t first_page, std::uint64_t pages) const noexcept {
  const auto range = ranges_.find(first_page);
  return range != ranges_.end() && range->second == pages;
}

std::optional<std::uint64_t> FreePages::take(std::uint64_t pages) {
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    const auto [first, size] = *range;
    if (size < pages) continue;
    ranges_.erase(range);
    if (size != pages) ranges_.emplace(first + pages, size - pages);
    return first;
  }
  return std::nullopt;
}

void FreePages::put(std::uint64_t first_page, std::uint64_t pages) {
  auto next = ranges_.lower_bound(first_page);
  if (next != ranges_.end() && next->first == first_page + pages) {
    pages += next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first_page) {
      before->second += pages;
      return;
    }
  }
  ranges_.emplace(first_page, pages);
}

}  // namespace weft::engine
