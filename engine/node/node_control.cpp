#include "engine/node/node_control.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>

#include "base/other_build.hpp"
#include "engine/copying/copy.hpp"

namespace weft::engine {

NodeControl::NodeControl(int place, std::span<const int> ranks, Options options)
    : place_(place),
      places_(static_cast<int>(ranks.size())),
      ranks_(ranks.begin(), ranks.end()),
      options_(options),
      ahead_(find_ahead()),
      attached_(ranks.size()),
      bases_(ranks.size()),
      slot_bytes_(slot_bytes()),
      digest_mask_(ahead() - 1),
      inline_mask_(inline_slots() - 1),
      incoming_(ranks.size()),
      outgoing_(ranks.size()),
      peers_(place, places_),
      sent_(ranks.size()),
      process_handles_(ranks.size()) {
  const std::size_t per_rank = slot_bytes_ + inline_slots() * sizeof(InlineSlot);
  memory_ = SharedMemory::create("weft-node", sizeof(Page) + ranks.size() * per_rank);
  bases_[place] = memory_.data();
  Page* page = new (memory_.data()) Page;
  // Slots are all zero at first, as the memory is: pages of slots that no message comes to are
  // never touched.
  peers_.publish(page->views);
  for (int from = 0; from < places_; ++from) incoming_[from] = first_inline_slot(place_, from);
  outgoing_[place_] = incoming_[place_];
}

std::uint64_t NodeControl::find_ahead() const noexcept {
  constexpr std::uint64_t kMost = 64;
  constexpr std::uint64_t kLongRings = 256;  // executions, of all neighbours: 128 KiB
  constexpr std::uint64_t kMostPlaces = 64;  // beyond, a ring would be as short as others
  const auto places = static_cast<std::uint64_t>(places_);
  if (has_long_rings() && places <= kMostPlaces) {
    return std::min(kMost, std::bit_floor(kLongRings / places));
  }
  if (places > 16) return 2;
  return options_.any_crowded && places <= 4 ? 16 : 8;
}

void NodeControl::attach(std::span<const std::string> handles) {
  for (int other = 0; other < places_; ++other) {
    if (other == place_) continue;
    const std::string_view handle = handles[other];
    if (handle.size() < PeerHeap::handle_bytes()) {
      throw_other_build("a handle of a heap and of shared memory", handle.size());
    }
    attached_[other] =
        SharedMemory::attach(handle.substr(PeerHeap::handle_bytes()), memory_.size());
    bases_[other] = attached_[other].data();
    outgoing_[other] = first_inline_slot(other, place_);
    peers_.attach(other, ranks_[other], page(other).views,
                  handle.substr(0, PeerHeap::handle_bytes()));
  }
}

std::uint32_t NodeControl::last_arrival(std::uint64_t execution, std::uint32_t arrived,
                                        std::uint32_t within) const noexcept {
  std::uint32_t last = 0;
  for (int place = 0; place < places_; ++place) {
    if (place == place_ || entered_by(place) < execution) continue;
    const auto& word = page(place).arrived[execution & 1];
    // Modulo 2^32: who came earlier has a large number, later than `within`.
    const std::uint32_t later = word.load(std::memory_order_acquire) - arrived;
    // A rank that is two executions further on wrote over the word: it had come long before.
    if (later <= within && entered_by(place) <= execution + 1) last = std::max(last, later);
  }
  return last;
}

void NodeControl::send_inline(int place, std::uint64_t sequence, std::uint32_t digest,
                              const verbs::Layout& bytes) noexcept {
  const Outgoing message = message_to(place, sequence);
  const std::uint64_t size = bytes.bytes();
  std::byte* begin = message.end - size;
  if (bytes.count == 1 && size == 8) {
    std::memcpy(begin, bytes.base, 8);
  } else {
    engine::copy({begin, size, 1, size, 0}, bytes);
  }
  send(place, message, header(sequence, digest));
}

void NodeControl::abort(const char* text) noexcept {
  Page& mine = page(place_);
  if (mine.aborted.load(std::memory_order_relaxed) != 0) return;
  const std::size_t length = std::min(std::strlen(text), mine.abort_text.size() - 1);
  std::memcpy(mine.abort_text.data(), text, length);
  mine.aborted.store(1, std::memory_order_seq_cst);
  for (int other = 0; other < places_; ++other) {
    if (other != place_) page(other).doorbell.wake();
  }
}

const char* NodeControl::abort_of(int place) const noexcept {
  const Page& theirs = page(place);
  return theirs.aborted.load(std::memory_order_acquire) != 0 ? theirs.abort_text.data() : nullptr;
}

int NodeControl::find_dead(std::uint64_t execution) noexcept {
  const pid_t self = ::getpid();
  for (int other = 0; other < places_; ++other) {
    if (other == place_ || process_of(other).number == self) continue;
    if (has_ended(other) && completed_by(other) < execution) return other;
  }
  return -1;
}

bool NodeControl::has_ended(int place) noexcept {
  auto& handle = process_handles_[place];
  if (handle == nullptr) handle = ProcessHandle::of(process_of(place));
  return handle != nullptr && handle->has_ended();
}

}  // namespace weft::engine
