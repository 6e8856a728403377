// Inbox of one end of a channel, which the other end writes: a ring of slots, and a mailbox behind
// it. Where a ring has more slots than kSlots, the others lie behind the mailbox.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::verbs {

/// Rails that one connection can have.
inline constexpr std::size_t kMaxRails = 4;
/// Keys with which a peer may write registered memory, by rail.
using RemoteKeys = std::array<std::uint32_t, kMaxRails>;

/// Messages of 2, 4 and 8 KiB, the most that WEFT_EAGER lets through by default, take 2, 3 and 5
/// slots, as they would if slots were of 2 KiB.
inline constexpr std::size_t kSlots = 8;
inline constexpr std::size_t kSlotBytes = 1664;

/// The last 16 bytes of a slot. The final 8 are one store.
struct Trailer {
  std::uint32_t credit = 0;    // slots of the opposite direction consumed so far; rides along
  std::uint32_t message = 0;   // number and key of the message that the payload belongs to
  std::uint32_t bytes = 0;     // of payload in this slot
  std::uint32_t sequence = 0;  // slots sent so far, this one included; last to arrive
};

static_assert(sizeof(Trailer) == 16 && kSlotBytes % 64 == 0);

inline constexpr std::size_t kPayloadBytes = kSlotBytes - sizeof(Trailer);

/// Clear to send: announces a window, the memory for the next bytes of a large message.
struct ClearToSend {
  std::uint64_t address = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;
  std::uint64_t message = 0;  // its number and key
  std::uint64_t total = 0;    // bytes of the message
  RemoteKeys keys{};
  std::uint64_t window = 0;  // number of the window, from 1; last to arrive
};

static_assert(sizeof(ClearToSend) == 72);

/// After a connection broke and was made anew: what the peer had received when it broke.
struct Resumption {
  std::uint64_t windows = 0;
  std::uint64_t slots = 0;
  std::uint64_t epoch = 0;  // number of the connection; last to arrive
};

/// Control words that the peer writes beside the ring, each on a cache line of its own.
struct Mailbox {
  alignas(64) std::uint64_t credit = 0;    // slots that the peer has consumed
  alignas(64) std::uint64_t finished = 0;  // number of the last window that is filled
  alignas(64) ClearToSend clear_to_send;
  alignas(64) Resumption resumption;
  alignas(64) std::array<char, 168> abort_text{};
  std::uint64_t aborted = 0;
  std::uint64_t closed = 0;  // uses of the channel that the peer has closed: see Channel::close()
  std::uint64_t call = 0;    // in which the peer waits, as its user numbers them; 0: none
};

static_assert(sizeof(Mailbox) % 64 == 0);

inline constexpr std::size_t kMailboxOffset = kSlots * kSlotBytes;
inline constexpr std::size_t kInboxBytes = kMailboxOffset + sizeof(Mailbox);
/// Of an inbox whose ring has so many slots, kSlots or more.
constexpr std::size_t inbox_bytes(std::size_t slots) {
  return kInboxBytes + (slots - kSlots) * kSlotBytes;
}

/// Reads a word that the peer writes; what it wrote before the word is visible then.
template <class Word>
Word load_acquire(const Word& word) noexcept {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_acquire);
}
/// The same for threads of this process.
inline void store_release(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

/// Of the windows that the owner of this mailbox has opened, the last that it knows to be filled.
inline std::uint64_t windows_finished(const Mailbox& mailbox) noexcept {
  return load_acquire(mailbox.finished);
}
/// Copies of an inbox's control words, for adapters that may place bytes in any order: a word is
/// copied when a completion has announced it and all bytes before it. The payload of slots is read
/// from the inbox itself. The thread that sees the completion copies, which need not be the reader.
struct AnnouncedWords {
  alignas(64) std::array<std::uint64_t, kSlots> slot_ends{};  // the last 8 bytes of each slot
  Mailbox mailbox;

  /// The bytes [offset, offset + bytes) of `inbox` have arrived. False when they are no part of the
  /// ring or of the mailbox; then nothing is copied.
  bool update(const std::byte* inbox, std::size_t offset, std::size_t bytes) noexcept {
    const std::size_t end = offset + bytes;
    if (bytes == 0 || end > kInboxBytes || (offset < kMailboxOffset && end > kMailboxOffset)) {
      return false;
    }
    if (offset >= kMailboxOffset) {
      auto* words = reinterpret_cast<std::uint64_t*>(&mailbox) + (offset - kMailboxOffset) / 8;
      for (std::size_t word = 0; word < bytes / 8; ++word)
        copy_word(words[word], inbox + offset + word * 8);
      return true;
    }
    for (std::size_t slot = offset / kSlotBytes; (slot + 1) * kSlotBytes <= end; ++slot) {
      copy_word(slot_ends[slot], inbox + (slot + 1) * kSlotBytes - sizeof slot_ends[slot]);
    }
    return true;
  }

 private:
  /// `from` is aligned; the peer may be writing a later value.
  static void copy_word(std::uint64_t& word, const std::byte* from) noexcept {
    store_release(word, load_acquire(*reinterpret_cast<const std::uint64_t*>(from)));
  }
};

}  // namespace weft::verbs
