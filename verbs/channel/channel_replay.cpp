// Channel, replay: after its connection was made anew it sends again what the peer has not
// received. The argument that everything arrives exactly once is in channel.hpp.
#include <array>
#include <bit>
#include <cstring>

#include "base/cast.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::verbs {

namespace {
constexpr std::size_t kWords = 5;  // of the mailbox, as replay_word() counts them
}

Status Channel::replay() noexcept {
  if (wire_.is_resumable()) {
    const bool landed = wire_.puts_done() == wire_.puts();
    Received peer;
    if (!wire_.resume(peer)) return Status::again;
    if (!rewind(peer, landed)) return fail("the ends disagree on what had arrived");
    take_credit(peer.slots);
    // The peer may have returned credit since then, for slots that had arrived.
    replayed_slots_ = slots_granted_ - wire_.slots();
    replayed_words_ = 0;
    told_window_again_ = false;
    replaying_ = true;
  }
  // The slots that are sent again are of messages behind the last window, as the peer has consumed
  // those before it. So its end goes first: see find_mismatch().
  if (!told_window_again_) {
    const Status told =
        wire_.commit(kMailboxOffset + offsetof(Mailbox, finished), 8, windows_filled_);
    if (told != Status::ok) return told;
    told_window_again_ = true;
  }
  const Status status = replay_slots();
  if (status != Status::ok) return status;
  for (; replayed_words_ < kWords; ++replayed_words_) {
    const Status told = replay_word(replayed_words_);
    if (told != Status::ok) return told;
  }
  replaying_ = false;
  return Status::ok;
}

/// The connection broke after the peer had closed it: the peer has all that was sent to it, and all
/// that it sent arrived before its close.
Status Channel::finish_closed() noexcept {
  while (sends_.head != nullptr) pop(sends_);
  progress_recv();
  return recvs_.head == nullptr ? Status::ok : fail(wire_.failure());
}

/// Goes back to what the peer has received. False when the counts contradict each other.
bool Channel::rewind(const Received& peer, bool landed) noexcept {
  if (slots_sent_ - peer.slots > wire_.slots()) return false;
  if (peer.windows == windows_filled_) {
    if (filling_ != 0) rewind_window();
    return true;
  }
  if (peer.windows + 1 != windows_filled_ || filling_ != 0) return false;
  if (landed) return true;  // only its end is missing
  --windows_filled_;
  rewind_window();
  return true;
}

/// Some put of the last window may not have arrived, so its message is still the first to be sent.
void Channel::rewind_window() noexcept {
  sends_.head->moved = window_begin_;
  sends_.head->announced = false;
  filling_ = 0;
}

Status Channel::replay_slots() noexcept {
  for (; replayed_slots_ != slots_sent_; ++replayed_slots_) {
    const std::size_t slot = wire_.slot_offset(replayed_slots_);
    std::uint64_t last = 0;
    std::memcpy(&last, wire_.outbox() + slot + kSlotBytes - sizeof last, sizeof last);
    const auto [bytes, sequence] = std::bit_cast<std::array<std::uint32_t, 2>>(last);
    if (sequence != replayed_slots_ + 1) return fail("a slot to be sent again is not there");
    const std::size_t padded = round_up<std::size_t>(bytes, 8);
    const Status status =
        wire_.commit(slot + kPayloadBytes - padded, padded + sizeof(Trailer), last);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

Status Channel::replay_word(std::size_t word) noexcept {
  constexpr std::size_t kClear = kMailboxOffset + offsetof(Mailbox, clear_to_send);
  constexpr std::size_t kText = kMailboxOffset + offsetof(Mailbox, abort_text);
  switch (word) {
    case 0:
      return tell_credit();
    case 1:
      if (windows_finished(wire_.mailbox()) >= windows_opened_) return Status::ok;
      return wire_.commit(kClear, sizeof(ClearToSend), windows_opened_);
    case 2:
      return aborted_ ? wire_.commit(kText, sizeof(Mailbox::abort_text) + 8, 1) : Status::ok;
    case 3:
      return wire_.commit(kMailboxOffset + offsetof(Mailbox, call), 8, told_call_);
    default:
      if (closed_ == 0) return Status::ok;
      return wire_.commit(kMailboxOffset + offsetof(Mailbox, closed), 8, closed_);
  }
}

}  // namespace weft::verbs
