// Wire: the transport under a channel between two ranks. Implemented by a reliable connection
// (verbs/connection/rc_wire.hpp) and, inside a node, by shared memory (engine/node/shm_wire.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "verbs/channel/inbox.hpp"

namespace weft::verbs {

enum class Status : std::uint8_t {
  ok,
  again,   ///< No room now; nothing was done. Try again after progress.
  failed,  ///< The connection has failed for good; Wire::failure() says why.
};

/// What one end of a channel has received before a connection broke: none of it is sent again.
struct Received {
  std::uint64_t windows = 0;  // number of the last window that it knows to be filled
  std::uint32_t slots = 0;    // of its ring that it has consumed

  bool operator==(const Received&) const = default;
};

/// Both ends have an *inbox* that the other end writes, and an *outbox* of the same layout in which
/// messages to the other end's inbox are composed. Used by one thread at a time.
class Wire {
 public:
  static constexpr std::size_t kBounceBytes = 256 << 10;

  virtual ~Wire() = default;

  /// Inbox and outbox: inbox_bytes(slots()) each, zero at the beginning, aligned to 64.
  std::byte* inbox() const noexcept { return inbox_; }
  std::byte* outbox() const noexcept { return outbox_; }
  /// Slots of the ring of either inbox: kSlots or a larger power of two, the same at both ends.
  std::uint32_t slots() const noexcept { return slot_mask_ + 1; }
  /// Where slot number `sequence` of all that are sent lies in the inbox or the outbox.
  std::size_t slot_offset(std::uint32_t sequence) const noexcept {
    const std::uint32_t slot = sequence & slot_mask_;
    return slot * kSlotBytes + (slot < kSlots ? 0 : sizeof(Mailbox));
  }
  /// The parts of the inbox that are known to have arrived: the last 8 bytes of such a slot, and
  /// the mailbox.
  const std::uint64_t& slot_end(std::uint32_t sequence) const noexcept {
    const std::uint32_t slot = sequence & slot_mask_;
    return *reinterpret_cast<const std::uint64_t*>(slot_ends_ + slot * slot_end_step_ +
                                                   (slot < kSlots ? 0 : sizeof(Mailbox)));
  }
  const Mailbox& mailbox() const noexcept { return *mailbox_; }

  /// Makes the bytes [offset, offset + bytes) of the outbox appear in the peer's inbox, where their
  /// last 8 become `last` no earlier than all others are there. `bytes` is a multiple of 8; the
  /// caller has composed all but the last 8, which the outbox holds, too, once this is ok. Commits
  /// appear in the order in which they were made, and after earlier puts if lands_in_order().
  virtual Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept = 0;
  /// Whether several commits of adjoining bytes may be one: when the last 8 bytes of any of them
  /// are in the peer's inbox, all bytes before these are there, too.
  virtual bool joins_commits() const noexcept { return false; }

  /// Whether put() works here: the same answer at both ends.
  virtual bool can_put() const noexcept = 0;
  /// Copies to the peer's memory. `keys` are the peer's keys of that memory, `local_key` is this
  /// end's key of the memory at `local`, which must not change until puts_done() reaches the value
  /// of puts() after this call.
  virtual Status put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
                     std::uint32_t local_key, std::size_t bytes) noexcept = 0;
  std::uint64_t puts() const noexcept { return puts_; }
  std::uint64_t puts_done() const noexcept { return puts_done_; }
  /// Whether a commit that is made now appears after all puts made so far. If not, it will after
  /// some calls of poll().
  virtual bool lands_in_order() const noexcept { return true; }
  /// Lanes that puts are spread over: the number of pieces into which a large put is best cut.
  virtual std::size_t lanes_in_use() const noexcept { return 1; }

  /// Whether put() needs both ends' memory registered. Memory without a key then goes through
  /// bounce memory.
  virtual bool needs_keys() const noexcept { return false; }
  /// The keys with which the peer may put to this end's memory.
  virtual RemoteKeys remote_keys(std::uint32_t /*key*/) const noexcept { return {}; }
  /// Registered memory of the wire, for one direction each; null when the adapter refuses it.
  struct Bounce {
    std::byte* memory = nullptr;
    std::uint32_t key = 0;
  };
  virtual const Bounce* bounce_out() noexcept { return nullptr; }
  virtual const Bounce* bounce_in() noexcept { return nullptr; }

  /// Has the peer's process look after the connection, should its rank be elsewhere. What an end
  /// has sent before it left may have failed on a rail that only this end's messages do not take.
  virtual void call_caretaker() noexcept {}

  /// Handles completions. Returns failed once the connection is broken for good. While recovery is
  /// under way commit() and put() return again.
  virtual Status poll() noexcept = 0;

  /// At the last poll(): the connection has been made anew, and the peer has told what it had
  /// received. What was under way when it broke has arrived or is lost; nothing of it will arrive
  /// any more.
  bool is_resumable() const noexcept { return resumable_; }
  /// Only then, and before anything is sent again. Gives what the peer had received; after this
  /// puts_done() is puts(): none is under way. False when it has broken again since then.
  virtual bool resume(Received& /*peer*/) noexcept { return false; }
  /// For the channel: the count of slots that the peer's resume() is to give.
  void set_consumed(std::uint32_t slots) noexcept {
    consumed_.store(slots, std::memory_order_release);
  }

  /// A wire serves one use after another: see Channel::close(). The number of this one, from 1.
  std::uint64_t uses() const noexcept { return uses_.load(std::memory_order_relaxed); }
  void begin_next_use() noexcept { uses_.store(uses() + 1, std::memory_order_relaxed); }
  /// Whether the other end has said that it will send nothing more in this use.
  bool is_closed_by_peer() const noexcept { return load_acquire(mailbox_->closed) >= uses(); }

  /// Why it failed, in a few words; never null.
  virtual const char* failure() const noexcept = 0;

  /// The state of its connection, for people. All 0: it has none.
  struct LinkState {
    int queue_pairs = 0;
    int ready = 0;                    ///< queue pairs that may send
    std::uint64_t requests = 0;       ///< posted on them and not known to be complete
    std::uint64_t reconnections = 0;  ///< how many times it was made anew
  };
  virtual LinkState link_state() const noexcept { return {}; }

 protected:
  /// Arrivals are found by reading the inbox. `slots`: of its ring.
  void use_polled_inbox(std::byte* inbox, std::uint32_t slots = kSlots) noexcept {
    inbox_ = inbox;
    slot_mask_ = slots - 1;
    slot_ends_ = inbox + kSlotBytes - sizeof(std::uint64_t);
    slot_end_step_ = kSlotBytes;
    mailbox_ = reinterpret_cast<const Mailbox*>(inbox + kMailboxOffset);
  }
  /// Arrivals are announced by completions, with which the owner updates `announced`. The ring has
  /// kSlots.
  void use_announced_inbox(std::byte* inbox, const AnnouncedWords& announced) noexcept {
    inbox_ = inbox;
    slot_ends_ = reinterpret_cast<const std::byte*>(announced.slot_ends.data());
    slot_end_step_ = sizeof(std::uint64_t);
    mailbox_ = &announced.mailbox;
  }

  std::byte* inbox_ = nullptr;
  std::uint32_t slot_mask_ = kSlots - 1;
  const std::byte* slot_ends_ = nullptr;
  std::size_t slot_end_step_ = 0;
  const Mailbox* mailbox_ = nullptr;
  std::byte* outbox_ = nullptr;
  std::uint64_t puts_ = 0;
  std::uint64_t puts_done_ = 0;
  std::atomic<std::uint32_t> consumed_{0};
  std::atomic<std::uint64_t> uses_{1};
  bool resumable_ = false;
};

}  // namespace weft::verbs
