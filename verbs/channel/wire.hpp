// A wire: what a channel needs of the way between two ranks. Implemented by a reliable connection
// (rc_wire.hpp) and, inside a node, by shared memory (engine/node/shm_wire.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/channel/inbox.hpp"

namespace weft::verbs {

enum class Status : std::uint8_t {
  ok,
  again,   ///< No room now; nothing was done. Try again after progress.
  failed,  ///< The connection is of no more use; Wire::failure() says why.
};

/// What an end has had of the other before a connection broke: none of it is to be sent again.
struct Seen {
  std::uint64_t windows = 0;  // filled ones that it has been told of
  std::uint32_t slots = 0;    // of its ring that it has consumed
};

/// Both ends have an *inbox* that the other end writes, and an *outbox* of the same layout in which
/// messages to the other end's inbox are composed. Single threaded.
class Wire {
 public:
  static constexpr std::size_t kBounceBytes = 256 << 10;

  virtual ~Wire() = default;

  /// Inbox and outbox: kInboxBytes each, zero at the beginning, aligned to 64.
  std::byte* inbox() const noexcept { return inbox_; }
  std::byte* outbox() const noexcept { return outbox_; }
  /// Of the inbox, what is there for sure: the last 8 bytes of a slot, and the mailbox.
  const std::uint64_t& slot_end(std::size_t slot) const noexcept {
    return *reinterpret_cast<const std::uint64_t*>(slot_ends_ + slot * slot_end_step_);
  }
  const Mailbox& mailbox() const noexcept { return *mailbox_; }

  /// Makes the bytes [offset, offset + bytes) of the outbox appear in the peer's inbox, where their
  /// last 8 become `last` no earlier than all others are there. `bytes` is a multiple of 8; the
  /// caller has composed all but the last 8, which the outbox holds, too, once this is ok. Commits
  /// appear in the order in which they were made, and after earlier puts if lands_in_order().
  virtual Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept = 0;
  /// Whether what was to be several commits of adjoining bytes may be one: whoever finds one of
  /// their last 8 bytes in the peer's inbox finds all bytes before these, too.
  virtual bool joins_commits() const noexcept { return false; }

  /// Whether put() works here: the same answer at both ends.
  virtual bool can_put() const noexcept = 0;
  /// Copies to the peer's memory. `keys` are those that the peer has for it, `local_key` this end's
  /// name for the memory at `local`, which must stay as it is until puts_done() reaches what puts()
  /// says after this call.
  virtual Status put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
                     std::uint32_t local_key, std::size_t bytes) noexcept = 0;
  std::uint64_t puts() const noexcept { return puts_; }
  std::uint64_t puts_done() const noexcept { return puts_done_; }
  /// Whether a commit that is made now appears after all puts made so far. Where it would not,
  /// progress makes it so.
  virtual bool lands_in_order() const noexcept { return true; }
  /// Ways that puts are spread over, evenly: the number of pieces that a large one is best cut
  /// into.
  virtual std::size_t ways() const noexcept { return 1; }

  /// Whether put() needs both ends' memory registered. What has no key then goes through bounce
  /// memory.
  virtual bool needs_keys() const noexcept { return false; }
  /// What the peer must be given to put to this end's memory.
  virtual RemoteKeys remote_keys(std::uint32_t /*key*/) const noexcept { return {}; }
  /// Registered memory of the wire's own, for one direction each; null when there is none to be
  /// had.
  struct Bounce {
    std::byte* memory = nullptr;
    std::uint32_t key = 0;
  };
  virtual const Bounce* bounce_out() noexcept { return nullptr; }
  virtual const Bounce* bounce_in() noexcept { return nullptr; }

  /// Takes note of what has completed. Failed once the connection is broken for good. While it is
  /// broken and may yet be made anew, commit() and put() are to be tried again.
  virtual Status poll() noexcept = 0;

  /// The connection is there again. What was under way when it broke has arrived or is lost, and
  /// nothing of it will arrive any more.
  bool is_resumable() const noexcept { return resumable_; }
  /// Only then, and before anything is sent again: what the peer had seen by then. From here on
  /// puts_done() is puts(): none is under way.
  virtual Seen resume() noexcept { return {}; }
  /// The channel says what resume() is to tell the peer.
  void set_consumed(std::uint32_t slots) noexcept { consumed_ = slots; }

  /// Why it failed, in a few words; never null.
  virtual const char* failure() const noexcept = 0;

 protected:
  /// The inbox may be looked at whenever there could be something new.
  void watch(std::byte* inbox) noexcept {
    inbox_ = inbox;
    slot_ends_ = inbox + kSlotBytes - sizeof(std::uint64_t);
    slot_end_step_ = kSlotBytes;
    mailbox_ = reinterpret_cast<const Mailbox*>(inbox + kMailboxOffset);
  }
  /// What is new in it is heard.
  void listen(std::byte* inbox, const Heard& heard) noexcept {
    inbox_ = inbox;
    slot_ends_ = reinterpret_cast<const std::byte*>(heard.ends.data());
    slot_end_step_ = sizeof(std::uint64_t);
    mailbox_ = &heard.mailbox;
  }

  std::byte* inbox_ = nullptr;
  const std::byte* slot_ends_ = nullptr;
  std::size_t slot_end_step_ = 0;
  const Mailbox* mailbox_ = nullptr;
  std::byte* outbox_ = nullptr;
  std::uint64_t puts_ = 0;
  std::uint64_t puts_done_ = 0;
  std::uint32_t consumed_ = 0;
  bool resumable_ = false;
};

}  // namespace weft::verbs
