#include "engine/views/peer_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "engine/views/cma.hpp"
#include "engine/views/xpmem.hpp"

namespace weft::engine {

namespace {
constexpr std::uint64_t kProbe = 0x77656674'70726f62;  // what probe() must read
}

PeerMemory::PeerMemory(int place, int places)
    : place_(place),
      tried_(static_cast<std::size_t>(places), View::staged),
      published_(static_cast<std::size_t>(places)),
      heaps_(static_cast<std::size_t>(places)),
      attachments_(static_cast<std::size_t>(places)) {
  tried_[place] = View::same_process;
}

void PeerMemory::publish(Published& mine) {
  published_[place_] = &mine;
  mine.process = this_process();
  mine.probe = kProbe;
  mine.probe_address = reinterpret_cast<std::uint64_t>(&mine.probe);
  if (best_allowed_view() <= View::xpmem) {
    mine.xpmem_segment = xpmem::own_segment(why_no_xpmem_);
  }
}

void PeerMemory::attach(int place, int rank, Published& theirs, std::string_view heap_handle) {
  published_[place] = &theirs;
  const bool may = best_allowed_view() <= View::shared_heap;
  if (!may || !heap::is_serving() || theirs.process.number == ::getpid()) return;
  try {
    heaps_[place] = PeerHeap::attach(heap_handle);
    if (!heaps_[place]) why_no_heaps_ = fmt::format("rank {} has none", rank);
  } catch (const Error& error) {
    why_no_heaps_ = error.what();
  }
}

bool PeerMemory::sees_heaps() const noexcept {
  if (heap::is_hidden()) return false;
  bool any = false;
  for (int other = 0; other < static_cast<int>(heaps_.size()); ++other) {
    if (other == place_ || process_of(other) == ::getpid()) continue;
    if (!heaps_[other]) return false;
    any = true;
  }
  return any;
}

View PeerMemory::probe() {
  View worst = View::same_process;
  for (int other = 0; other < static_cast<int>(tried_.size()); ++other) {
    if (other == place_) continue;
    tried_[other] = probe(other);
    worst = std::max(worst, tried_[other]);
  }
  return worst;
}

View PeerMemory::probe(int place) {
  const Published& theirs = *published_[place];
  const View allowed = best_allowed_view();
  if (allowed <= View::shared_heap && theirs.process.number == ::getpid())
    return View::same_process;
  if (allowed <= View::xpmem && probe_xpmem(place)) return View::xpmem;
  const bool cma =
      allowed <= View::cma && has_cma(theirs.process.number, theirs.probe_address, kProbe);
  return cma ? View::cma : View::staged;
}

bool PeerMemory::probe_xpmem(int place) {
  const Published& theirs = *published_[place];
  if (published_[place_]->xpmem_segment == 0) return false;
  if (!attachments_.connect(place, theirs.xpmem_segment)) return false;
  const std::byte* found = attachments_.find(place, theirs.probe_address, sizeof kProbe);
  std::uint64_t word = 0;
  return found != nullptr && attachments_.reach([&] { std::memcpy(&word, found, sizeof word); }) &&
         word == kProbe;
}

PeerMemory::Found PeerMemory::find(int place, const verbs::Layout& layout) noexcept {
  if (tried_[place] == View::same_process) return {layout.base, View::same_process};
  const auto address = reinterpret_cast<std::uint64_t>(layout.base);
  const std::uint64_t bytes = (layout.count - 1) * layout.stride + layout.block_bytes;
  if (published_[place]->heap_hidden.load(std::memory_order_relaxed) == 0) {
    if (std::byte* found = heaps_[place].find(address, bytes)) return {found, View::shared_heap};
  }
  if (!attachments_.is_connected(place)) return {};
  return {attachments_.find(place, address, bytes), View::xpmem};
}

}  // namespace weft::engine
