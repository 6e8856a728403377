// What the two ends of a channel write to each other: a ring of slots, and a mailbox behind it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::verbs {

/// Rails that one connection can have.
inline constexpr std::size_t kMaxRails = 4;
/// What a peer needs to write registered memory: a key for each rail.
using RemoteKeys = std::array<std::uint32_t, kMaxRails>;

/// Messages of 2, 4 and 8 KiB, the most that WEFT_EAGER lets through by default, take 2, 3 and 5
/// slots, as they would if slots were of 2 KiB.
inline constexpr std::size_t kSlots = 8;
inline constexpr std::size_t kSlotBytes = 1664;

/// The last 16 bytes of a slot. The final 8 are one store.
struct Trailer {
  std::uint32_t credit = 0;    // slots of the opposite direction consumed so far; rides along
  std::uint32_t message = 0;   // number of the message that the payload belongs to
  std::uint32_t bytes = 0;     // of payload in this slot
  std::uint32_t sequence = 0;  // slots sent so far, this one included; last to arrive
};

inline constexpr std::size_t kPayloadBytes = kSlotBytes - sizeof(Trailer);

/// A window: where the next bytes of a large message go.
struct ClearToSend {
  std::uint64_t address = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;
  std::uint64_t message = 0;  // its number
  std::uint64_t total = 0;    // bytes of the message
  RemoteKeys keys{};
  std::uint64_t window = 0;  // number of the window, from 1; last to arrive
};

/// What the peer writes beside the ring. Each on a cache line of its own.
struct Mailbox {
  alignas(64) std::uint64_t credit = 0;    // slots that the peer has consumed
  alignas(64) std::uint64_t finished = 0;  // number of the last window that is filled
  alignas(64) ClearToSend clear_to_send;
  alignas(64) std::array<char, 176> abort_text{};
  std::uint64_t aborted = 0;
  std::uint64_t closed = 0;  // the peer will send nothing more
};

inline constexpr std::size_t kMailboxOffset = kSlots * kSlotBytes;
inline constexpr std::size_t kInboxBytes = kMailboxOffset + sizeof(Mailbox);

/// A word that the peer writes, with all that was written before it.
template <class Word>
Word load_acquire(const Word& word) noexcept {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_acquire);
}

/// Of the windows that the owner of this mailbox has opened, the last that it was told is filled.
std::uint64_t windows_finished(const Mailbox& mailbox) noexcept;
/// Whether the other end has said that it will send nothing more.
bool said_goodbye(const Mailbox& mailbox) noexcept;

/// Of an inbox whose bytes may appear in any order: the words by which its owner goes, as far as it
/// was told that they and all before them are there. Slots' payload is read where it lies.
struct Heard {
  alignas(64) std::array<std::uint64_t, kSlots> ends{};  // the last 8 bytes of each slot
  Mailbox mailbox;

  /// The bytes [offset, offset + bytes) of `inbox` are there. False when that is no part of the
  /// ring or of the mailbox; then nothing was taken.
  bool hear(const std::byte* inbox, std::size_t offset, std::size_t bytes) noexcept;
};

}  // namespace weft::verbs
