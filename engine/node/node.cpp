#include "engine/node/node.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "engine/memory/copy.hpp"
#include "engine/memory/heap.hpp"
#include "engine/memory/xpmem.hpp"

namespace weft::engine {

namespace {
constexpr std::uint64_t kProbe = 0x77656674'70726f62;  // what probe_view() must read back
}

Node::Node(int place, std::span<const int> ranks, bool crowded)
    : place_(place),
      places_(static_cast<int>(ranks.size())),
      ranks_(ranks.begin(), ranks.end()),
      crowded_(crowded),
      tried_(ranks.size(), View::staged),
      attached_(ranks.size()),
      bases_(ranks.size()),
      heaps_(ranks.size()),
      attachments_(ranks.size()),
      sent_(ranks.size()),
      process_handles_(ranks.size()) {
  const std::size_t per_rank = sizeof(Slot) + letters() * sizeof(Letter);
  segment_ = Segment::create("weft-node", sizeof(Page) + ranks.size() * per_rank);
  bases_[place] = segment_.data();
  tried_[place] = View::same_process;
  Page* page = new (segment_.data()) Page;
  for (int i = 0; i < places_; ++i) new (slots(place) + i) Slot;
  for (int i = 0; i < places_; ++i) {
    for (std::uint64_t k = 0; k < letters(); ++k) new (&letter_of(place, i, k)) Letter;
  }
  page->process = ::getpid();
  page->probe = kProbe;
  page->probe_address = reinterpret_cast<std::uint64_t>(&page->probe);
  if (best_allowed_view() <= View::xpmem) {
    page->xpmem_segment = xpmem::own_segment(why_no_xpmem_);
  }
}

void Node::attach(std::span<const std::string> handles) {
  for (int other = 0; other < places_; ++other) {
    if (other == place_) continue;
    const std::string_view handle = handles[other];
    if (handle.size() < PeerHeap::handle_bytes()) throw Error("handle of a different build");
    attached_[other] = Segment::attach(handle.substr(PeerHeap::handle_bytes()));
    bases_[other] = attached_[other].data();
    attach_heap(other, handle.substr(0, PeerHeap::handle_bytes()));
  }
}

/// A heap that cannot be seen is no failure.
void Node::attach_heap(int place, std::string_view handle) {
  const bool may = best_allowed_view() <= View::shared_heap;
  if (!may || !heap::is_serving() || page(place).process == ::getpid()) return;
  try {
    heaps_[place] = PeerHeap::attach(handle);
    if (!heaps_[place]) why_no_heaps_ = fmt::format("rank {} has none", ranks_[place]);
  } catch (const Error& error) {
    why_no_heaps_ = error.what();
  }
}

bool Node::sees_heaps() const noexcept {
  bool any = false;
  for (int other = 0; other < places_; ++other) {
    if (other == place_ || page(other).process == ::getpid()) continue;
    if (!heaps_[other]) return false;
    any = true;
  }
  return any;
}

View Node::probe_view() {
  View worst = View::same_process;
  for (int other = 0; other < places_; ++other) {
    if (other == place_) continue;
    tried_[other] = probe_view(other);
    worst = std::max(worst, tried_[other]);
  }
  return worst;
}

View Node::probe_view(int place) {
  const Page& theirs = page(place);
  const View allowed = best_allowed_view();
  if (allowed <= View::shared_heap && theirs.process == ::getpid()) return View::same_process;
  if (allowed <= View::xpmem && probe_xpmem(place)) return View::xpmem;
  const bool cma = allowed <= View::cma && has_cma(theirs.process, theirs.probe_address, kProbe);
  return cma ? View::cma : View::staged;
}

bool Node::probe_xpmem(int place) {
  const Page& theirs = page(place);
  if (page(place_).xpmem_segment == 0) return false;
  if (!attachments_.connect(place, theirs.xpmem_segment)) return false;
  const std::byte* found = attachments_.find(place, theirs.probe_address, sizeof kProbe);
  std::uint64_t word = 0;
  return found != nullptr && attachments_.reach([&] { std::memcpy(&word, found, sizeof word); }) &&
         word == kProbe;
}

Node::Found Node::find(int place, const verbs::Layout& layout) noexcept {
  if (tried_[place] == View::same_process) return {layout.base, View::same_process};
  const auto address = reinterpret_cast<std::uint64_t>(layout.base);
  const std::uint64_t bytes = (layout.count - 1) * layout.stride + layout.block_bytes;
  if (page(place).heap_overlaid.load(std::memory_order_relaxed) == 0) {
    if (std::byte* found = heaps_[place].find(address, bytes)) return {found, View::shared_heap};
  }
  if (!attachments_.is_connected(place)) return {};
  return {attachments_.find(place, address, bytes), View::xpmem};
}

void Node::send_letter(int place, std::uint64_t sequence, const verbs::Layout& bytes) noexcept {
  Letter& letter = letter_of(place, place_, sequence);
  const std::uint64_t size = bytes.bytes();
  std::byte* begin = letter.bytes.data() + kLetterBytes - size;
  if (bytes.count == 1 && size == 8) {
    std::memcpy(begin, bytes.base, 8);
  } else {
    engine::copy({begin, size, 1, size, 0}, bytes);
  }
  if (!crowded_) {
    letter.sequence.store(sequence, std::memory_order_release);
    return;
  }
  letter.sequence.store(sequence, std::memory_order_seq_cst);
  page(place).doorbell.ring(place_);
}

void Node::abort(const char* text) noexcept {
  Page& mine = page(place_);
  if (mine.aborted.load(std::memory_order_relaxed) != 0) return;
  const std::size_t length = std::min(std::strlen(text), mine.abort_text.size() - 1);
  std::memcpy(mine.abort_text.data(), text, length);
  mine.aborted.store(1, std::memory_order_seq_cst);
  for (int other = 0; other < places_; ++other) {
    if (other != place_) page(other).doorbell.wake();
  }
}

const char* Node::abort_of(int place) const noexcept {
  const Page& theirs = page(place);
  return theirs.aborted.load(std::memory_order_acquire) != 0 ? theirs.abort_text.data() : nullptr;
}

int Node::find_dead(std::uint64_t execution) noexcept {
  const pid_t self = ::getpid();
  for (int other = 0; other < places_; ++other) {
    const pid_t process = page(other).process;
    if (other == place_ || process == self) continue;
    if (!process_handles_[other]) {
      const long handle = ::syscall(SYS_pidfd_open, process, 0);
      if (handle < 0 && errno == ESRCH && completed_by(other) < execution) return other;
      process_handles_[other] = File(static_cast<int>(handle));
    }
    // Readable once the process has ended, reaped or not.
    pollfd entry{process_handles_[other].get(), POLLIN, 0};
    const bool ended = process_handles_[other] && ::poll(&entry, 1, 0) > 0;
    if (ended && completed_by(other) < execution) return other;
  }
  return -1;
}

}  // namespace weft::engine
