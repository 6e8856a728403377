// Announcement: the 32 bits of a write with immediate, which say which bytes of which inbox it
// wrote.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/channel/inbox.hpp"

namespace weft::verbs {

/// A range of the inbox of one of a connection's wires: whole slots (a write that begins inside a
/// slot ends with one), or words of the mailbox.
///
///   31           14  13       12        6  5         0
///   | wire number | mailbox | slots/words | first one |
struct Announcement {
  static constexpr std::uint32_t kMostWires = 1 << 18;

  std::uint32_t wire = 0;  // the receiver's number of it
  std::size_t offset = 0;
  std::size_t bytes = 0;

  constexpr std::uint32_t pack() const noexcept {
    const bool mailbox = offset >= kMailboxOffset;
    const std::size_t begin = mailbox ? kMailboxOffset : 0;
    const std::size_t unit = mailbox ? 8 : kSlotBytes;
    const std::size_t first = (offset - begin) / unit;
    const std::size_t count = (offset + bytes - begin) / unit - first;
    return static_cast<std::uint32_t>(wire << 14 | (mailbox ? 1u : 0u) << 13 | count << 6 | first);
  }
  static constexpr Announcement unpack(std::uint32_t word) noexcept {
    const bool mailbox = (word >> 13 & 1) != 0;
    const std::size_t unit = mailbox ? 8 : kSlotBytes;
    return {word >> 14, (mailbox ? kMailboxOffset : 0) + (word & 0x3f) * unit,
            (word >> 6 & 0x7f) * unit};
  }
};
static_assert(sizeof(Mailbox) / 8 <= 64 && kSlots <= 64);

}  // namespace weft::verbs
