// Channel, small messages: fragments through the ring, and the credit for its slots.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/cast.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::verbs {

void Channel::take_credit(std::uint32_t consumed) noexcept {
  // Credit comes in two ways that may overtake each other; both count modulo 2^32.
  const std::uint32_t granted = consumed + wire_.slots();
  if (static_cast<std::int32_t>(granted - slots_granted_) > 0) slots_granted_ = granted;
}

/// The number of slots in the next write of a message with `bytes` left: all that are adjoining, if
/// the wire joins commits.
std::uint32_t Channel::joined_slots(std::uint64_t bytes) const noexcept {
  if (!wire_.joins_commits()) return 1;
  const std::uint64_t wanted = (bytes + kPayloadBytes - 1) / kPayloadBytes;
  const std::uint64_t in_a_row = kSlots - slots_sent_ % kSlots;
  const std::uint64_t granted = slots_granted_ - slots_sent_;
  return static_cast<std::uint32_t>(std::min({wanted, in_a_row, granted}));
}

/// Composes the next fragment in the outbox, except the last 8 bytes of its slot.
Channel::Composed Channel::compose(Transfer& transfer) noexcept {
  const std::size_t odd = (transfer.layout.bytes() - transfer.moved) % kPayloadBytes;
  const std::size_t bytes = odd == 0 ? kPayloadBytes : odd;
  const std::size_t end = wire_.slot_offset(slots_sent_) + kPayloadBytes;
  Composed composed{end - round_up(bytes, std::size_t{8}), end + sizeof(Trailer), 0};
  copy_out(transfer.layout, transfer.moved, wire_.outbox() + composed.begin, bytes);
  const Trailer trailer{slots_consumed_, static_cast<std::uint32_t>(tag(transfer)),
                        static_cast<std::uint32_t>(bytes), ++slots_sent_};
  std::memcpy(wire_.outbox() + end, &trailer, 8);
  std::memcpy(&composed.last, &trailer.bytes, sizeof composed.last);
  transfer.moved += bytes;
  return composed;
}

Status Channel::send_fragments(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (transfer.moved < total) {
    if (slots_sent_ == slots_granted_) {
      take_credit(static_cast<std::uint32_t>(load_acquire(wire_.mailbox().credit)));
      if (slots_sent_ == slots_granted_) return Status::again;
    }
    const std::uint64_t moved = transfer.moved;
    const std::uint32_t sent = slots_sent_;
    const std::uint32_t joined = joined_slots(total - moved);
    Composed all = compose(transfer);
    for (std::uint32_t i = 1; i < joined; ++i) {
      std::memcpy(wire_.outbox() + all.end - sizeof all.last, &all.last, sizeof all.last);
      const Composed next = compose(transfer);
      all = {all.begin, next.end, next.last};
    }
    const Status status = wire_.commit(all.begin, all.end - all.begin, all.last);
    if (status != Status::ok) {
      transfer.moved = moved;
      slots_sent_ = sent;
      return status;
    }
    slots_returned_ = slots_consumed_;
  }
  return Status::ok;
}

Status Channel::recv_fragments(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (transfer.moved < total) {
    const auto [bytes, sequence] =
        std::bit_cast<std::array<std::uint32_t, 2>>(load_acquire(wire_.slot_end(slots_consumed_)));
    if (sequence != slots_consumed_ + 1) return Status::again;
    const std::byte* end = wire_.inbox() + wire_.slot_offset(slots_consumed_) + kPayloadBytes;
    Trailer trailer;
    std::memcpy(&trailer, end, sizeof trailer);
    if (trailer.message != static_cast<std::uint32_t>(tag(transfer)) || bytes > kPayloadBytes ||
        bytes > total - transfer.moved) {
      return fail(kMismatch);
    }
    take_credit(trailer.credit);
    copy_in(transfer.layout, transfer.moved, end - round_up<std::size_t>(bytes, 8), bytes);
    transfer.moved += bytes;
    wire_.set_consumed(++slots_consumed_);
    if (return_credit() == Status::failed) return Status::failed;
  }
  return Status::ok;
}

bool Channel::may_move_now(const Queue& queue, const Transfer& transfer) const noexcept {
  return queue.head == nullptr && failure_[0] == '\0' && !is_replaying() &&
         transfer.layout.bytes() <= std::min<std::uint64_t>(kPayloadBytes, rendezvous_bytes_);
}

bool Channel::send_now(Transfer& transfer) noexcept {
  if (!may_move_now(sends_, transfer)) return false;
  transfer.message = sent_ + 1;
  if (send_fragments(transfer) != Status::ok) return false;
  ++sent_;
  return true;
}

bool Channel::recv_now(Transfer& transfer) noexcept {
  if (!may_move_now(recvs_, transfer)) return false;
  transfer.message = received_ + 1;
  if (recv_fragments(transfer) != Status::ok) return false;
  ++received_;
  return true;
}

Status Channel::return_credit() noexcept {
  // Half a ring at a time, so that credits cost little and the sender does not wait for them.
  if (slots_consumed_ - slots_returned_ < wire_.slots() / 2 || is_closed_by_peer())
    return Status::ok;
  return tell_credit();
}

Status Channel::tell_credit() noexcept {
  const Status status =
      wire_.commit(kMailboxOffset + offsetof(Mailbox, credit), 8, slots_consumed_);
  if (status == Status::ok) slots_returned_ = slots_consumed_;
  return status;
}

}  // namespace weft::verbs
