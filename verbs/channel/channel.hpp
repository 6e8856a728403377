// Channel: messages between two ranks, in order, over any wire.
//
// Small messages are sent as fragments through a ring of slots in the receiver's inbox. The payload
// ends right before the slot's trailer, so that one contiguous write carries both and the trailer's
// sequence number arrives last. At that place nothing but sequence numbers is ever written, so
// stale bytes cannot be mistaken for a message. The first fragment takes the part that does not
// fill a slot; the rest follows it without a gap and goes along in the same write where the wire
// allows it.
//
// Large messages: the receiver opens a window by writing the address of its memory to the sender's
// inbox (clear to send); the sender puts the bytes straight into place and then increments the
// receiver's `finished`. One window holds the whole message, unless the receiver's memory could not
// be registered: then the window is the wire's bounce memory, as often as needed. A sender whose
// memory could not be registered sends from bounce memory, too. Where the wire has several lanes
// the puts of a window are spread over them, and its end is announced when the puts that the
// announcement could overtake are done. The size of a message, which both ends know, decides
// between fragments and windows.
//
// No function waits: send() and recv() queue, progress() moves what can be moved.
//
// After a connection broke and was made anew (verbs/recovery) each end tells the other what it has
// received when nothing more of the old connection can arrive (Received), and sends again what the
// other has not. It sends nothing of its own in the new epoch before it knows what the other end
// had received. Many channels may share the connection (verbs/connection); each of them resumes
// apart, when its owner comes. Why every message still arrives exactly once:
// - What an end tells is final. Its queue pairs were reset, so nothing of the old epoch arrives any
//   more; and nothing of the new one does before the end has told: the peer waits for it. It may
//   consume slots later that had arrived before: then it tells too little, which is harmless, as
//   for slots the count is only a lower bound (next point).
// - A slot of the ring is reused only after its credit, so slots that the peer has not consumed are
//   still in the outbox. They are written again unchanged: over a slot that had arrived this
//   changes no byte, even during a read, and a slot that was consumed in the meantime has a
//   sequence number that the reader does not expect any more. New slots follow in order.
// - At most one window is unsettled, as the peer opens the next one only when it knows the end of
//   the last one. If the peer knows the end, or all puts of the window are known to be done, no
//   byte is put again: the receiver, or in the second case the sender, may have reused its buffer.
//   Else neither has, and the window is filled again from its beginning, followed by its end.
// - The mailbox's words only grow, so writing them once more does no harm. A clear to send is
//   written again only while its window is open; until then its copy in the outbox is the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "verbs/channel/inbox.hpp"
#include "verbs/channel/message_layout.hpp"
#include "verbs/channel/wire.hpp"

namespace weft::verbs {

/// One message under way. Owned by the caller, in place until `done`.
struct Transfer {
  Layout layout;
  std::uint64_t moved = 0;    // bytes
  std::uint64_t message = 0;  // its number, given by the channel
  std::uint32_t key = 0;      // of the user's choice: the same at both ends
  std::uint64_t ticket = 0;   // send: puts of the wire that carry it
  Transfer* next = nullptr;
  bool done = false;
  bool announced = false;  // recv: its window was opened; send: its end was written
};

class Channel {
 public:
  /// Messages above `rendezvous_bytes` go straight into place, where the wire can put. The same at
  /// both ends.
  Channel(Wire& wire, std::uint64_t rendezvous_bytes) noexcept;

  /// Whether a message of this size needs registered memory at both ends.
  bool is_rendezvous(std::uint64_t bytes) const noexcept {
    return bytes > rendezvous_bytes_ && wire_.can_put();
  }

  /// Queues a message behind those before it. Transfers must not be empty.
  void send(Transfer& transfer) noexcept { enqueue(sends_, transfer, sent_); }
  void recv(Transfer& transfer) noexcept { enqueue(recvs_, transfer, received_); }

  /// The same, at once or not at all, of a message that fits one fragment. `transfer` need not stay
  /// in place. False: another message is before it, or it cannot be moved yet, or the two ends
  /// disagree; the next progress() says which.
  bool send_now(Transfer& transfer) noexcept;
  bool recv_now(Transfer& transfer) noexcept;

  /// Moves what can be moved; sets `done` of complete transfers. Returns failed when the connection
  /// failed or the two ends disagree on sizes or keys: failure() says which.
  Status progress() noexcept;
  /// Between a break and the end of what it made necessary progress() receives nothing.
  bool is_replaying() const noexcept { return replaying_ || wire_.is_resumable(); }
  Wire::LinkState link_state() const noexcept { return wire_.link_state(); }
  /// Slots of the peer's ring, of Wire::slots(), that this end has written and the peer is not
  /// known to have read.
  std::uint32_t slots_under_way() const noexcept {
    return slots_sent_ + wire_.slots() - slots_granted_;
  }
  bool idle() const noexcept { return sends_.head == nullptr && recvs_.head == nullptr; }
  const char* failure() const noexcept { return failure_; }
  /// After a failure: the two ends have described a message differently.
  bool is_mismatch() const noexcept { return std::string_view(failure_) == kMismatch; }

  /// For a receiver that has waited long. Writes a word that the peer knows already: the write
  /// fails when the peer has ended, which this end would not notice while it only waits. And the
  /// peer's process sees whether what it has sent has failed, also while its rank is elsewhere.
  Status probe() noexcept {
    const Status status = tell_credit();
    wire_.call_caretaker();
    return status;
  }

  /// Tells the peer, as far as possible, in which call this rank waits for it: a word of the user's
  /// choice that only grows. Once, however often it is called: where arrivals are announced each
  /// takes a receive of the peer, which may be away.
  void tell_call(std::uint64_t word) noexcept;
  std::uint64_t peer_call() const noexcept { return load_acquire(wire_.mailbox().call); }
  /// For a receiver that has waited long: whether the peer has sent a small message where a large
  /// one is expected. Then the channel fails.
  bool find_mismatch() noexcept;

  /// Tells the peer, as far as possible, that this rank has failed and why.
  void abort(const char* text) noexcept;
  /// The text of the peer's abort(); nothing when it has not called that.
  std::optional<std::string_view> peer_abort() const noexcept;

  /// Announces that this end will send nothing more in this use of the channel. Once both ends have
  /// the wire may be destroyed, or both ends reopen() the channel for its next use: counts and
  /// sequence numbers go on, so writes that come late are those of an old slot or word, as ever.
  Status close() noexcept;
  bool said_close() const noexcept { return closed_ == wire_.uses(); }
  bool is_closed_by_peer() const noexcept { return wire_.is_closed_by_peer(); }
  void reopen(std::uint64_t rendezvous_bytes) noexcept {
    rendezvous_bytes_ = rendezvous_bytes;
    wire_.begin_next_use();
  }
  /// Messages so far. A next use needs that each end has received what the other sent.
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t received() const noexcept { return received_; }
  /// Nothing is under way, and no end has failed.
  bool is_clean() const noexcept {
    return idle() && failure_[0] == '\0' && !aborted_ && !peer_abort();
  }

 private:
  struct Queue {
    Transfer* head = nullptr;
    Transfer* tail = nullptr;
  };
  static void enqueue(Queue& queue, Transfer& transfer, std::uint64_t& counter) noexcept;
  static void pop(Queue& queue) noexcept;

  void take_credit(std::uint32_t consumed) noexcept;
  Status progress_send() noexcept;
  Status progress_recv() noexcept;
  // channel_fragments.cpp
  Status send_fragments(Transfer& transfer) noexcept;
  Status recv_fragments(Transfer& transfer) noexcept;
  bool may_move_now(const Queue& queue, const Transfer& transfer) const noexcept;
  std::uint32_t joined_slots(std::uint64_t bytes) const noexcept;
  struct Composed {
    std::size_t begin = 0;  // offsets in the outbox
    std::size_t end = 0;
    std::uint64_t last = 0;  // value of the last 8 bytes
  };
  Composed compose(Transfer& transfer) noexcept;
  Status return_credit() noexcept;
  Status tell_credit() noexcept;
  // channel_windows.cpp
  Status send_straight(Transfer& transfer) noexcept;
  Status fill_window(Transfer& transfer) noexcept;
  std::uint64_t piece_bytes(std::uint64_t window_bytes) const noexcept;
  Status put(Transfer& transfer, const ClearToSend& clear) noexcept;
  Status recv_straight(Transfer& transfer) noexcept;
  Status open_window(Transfer& transfer) noexcept;
  bool bounces(const Transfer& transfer) const noexcept {
    return transfer.layout.key == 0 && wire_.needs_keys();
  }
  // channel_replay.cpp
  Status replay() noexcept;
  Status finish_closed() noexcept;
  bool rewind(const Received& peer, bool landed) noexcept;
  void rewind_window() noexcept;
  Status replay_slots() noexcept;
  Status replay_word(std::size_t word) noexcept;
  Status fail(const char* why) noexcept;
  static constexpr const char* kMismatch = "sender and receiver disagree on sizes";
  /// The number and the key of a message in one word.
  static std::uint64_t tag(const Transfer& transfer) noexcept {
    return transfer.message ^ transfer.key;
  }

  Wire& wire_;
  std::uint64_t rendezvous_bytes_;
  Queue sends_;
  Queue recvs_;
  std::uint64_t sent_ = 0;            // messages
  std::uint64_t received_ = 0;        // messages
  std::uint64_t windows_filled_ = 0;  // of the peer
  std::uint64_t windows_opened_ = 0;
  std::uint64_t filling_ = 0;       // bytes put into the window that is being filled
  std::uint64_t window_begin_ = 0;  // bytes of its message before the last window begun
  std::uint64_t bounce_busy_ = 0;   // puts after which the outgoing bounce memory is free again
  std::uint32_t slots_sent_ = 0;    // modulo 2^32, as on the wire
  std::uint32_t slots_granted_;
  std::uint32_t slots_consumed_ = 0;
  std::uint32_t slots_returned_ = 0;
  bool aborted_ = false;      // this end; its text is in the outbox
  std::uint64_t closed_ = 0;  // uses that this end has closed
  bool replaying_ = false;
  bool told_window_again_ = false;    // the end of the last window, in this replay
  std::uint32_t replayed_slots_ = 0;  // the next one to be sent again
  std::size_t replayed_words_ = 0;    // of the mailbox
  std::uint64_t told_call_ = 0;
  const char* failure_ = "";
};

}  // namespace weft::verbs
