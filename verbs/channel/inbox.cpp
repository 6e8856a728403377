#include "verbs/channel/inbox.hpp"

#include <cstring>

namespace weft::verbs {

static_assert(sizeof(Trailer) == 16 && sizeof(ClearToSend) == 72);
static_assert(kSlotBytes % 64 == 0 && sizeof(Mailbox) % 64 == 0);

std::uint64_t windows_finished(const Mailbox& mailbox) noexcept {
  return load_acquire(mailbox.finished);
}

bool said_goodbye(const Mailbox& mailbox) noexcept {
  return load_acquire(mailbox.closed) != 0;
}

bool Heard::hear(const std::byte* inbox, std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t end = offset + bytes;
  if (bytes == 0 || end > kInboxBytes || (offset < kMailboxOffset && end > kMailboxOffset)) {
    return false;
  }
  if (offset >= kMailboxOffset) {
    auto* box = reinterpret_cast<std::byte*>(&mailbox);
    std::memcpy(box + (offset - kMailboxOffset), inbox + offset, bytes);
    return true;
  }
  for (std::size_t slot = offset / kSlotBytes; (slot + 1) * kSlotBytes <= end; ++slot) {
    std::memcpy(&ends[slot], inbox + (slot + 1) * kSlotBytes - sizeof ends[slot],
                sizeof ends[slot]);
  }
  return true;
}

}  // namespace weft::verbs
