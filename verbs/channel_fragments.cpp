// The channel's small messages: fragments through the ring, and the credit for its slots.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/cast.hpp"
#include "verbs/channel.hpp"

namespace weft::verbs {

void Channel::take_credit(std::uint32_t consumed) noexcept {
  // Credit comes in two ways that may overtake each other; both count modulo 2^32.
  const std::uint32_t granted = consumed + std::uint32_t{kSlots};
  if (static_cast<std::int32_t>(granted - slots_granted_) > 0) slots_granted_ = granted;
}

Status Channel::send_fragments(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (transfer.moved < total) {
    if (slots_sent_ == slots_granted_) {
      take_credit(static_cast<std::uint32_t>(load_acquire(mailbox().credit)));
      if (slots_sent_ == slots_granted_) return Status::again;
    }
    const std::size_t slot = slots_sent_ % kSlots * kSlotBytes;
    const std::size_t bytes = std::min<std::uint64_t>(total - transfer.moved, kPayloadBytes);
    const std::size_t padded = round_up(bytes, std::size_t{8});
    const std::size_t begin = slot + kPayloadBytes - padded;
    copy_out(transfer.layout, transfer.moved, wire_.outbox() + begin, bytes);
    Trailer trailer{slots_consumed_, static_cast<std::uint32_t>(transfer.message),
                    static_cast<std::uint32_t>(bytes), slots_sent_ + 1};
    std::memcpy(wire_.outbox() + slot + kPayloadBytes, &trailer, 8);
    std::uint64_t last = 0;
    std::memcpy(&last, &trailer.bytes, sizeof last);
    const Status status = wire_.commit(begin, padded + sizeof(Trailer), last);
    if (status != Status::ok) return status;
    ++slots_sent_;
    slots_returned_ = slots_consumed_;
    transfer.moved += bytes;
  }
  return Status::ok;
}

Status Channel::recv_fragments(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (transfer.moved < total) {
    const std::byte* slot = wire_.inbox() + slots_consumed_ % kSlots * kSlotBytes;
    const std::byte* end = slot + kPayloadBytes;
    const auto& last = *reinterpret_cast<const std::uint64_t*>(end + 8);
    const auto [bytes, sequence] = std::bit_cast<std::array<std::uint32_t, 2>>(load_acquire(last));
    if (sequence != slots_consumed_ + 1) return Status::again;
    Trailer trailer;
    std::memcpy(&trailer, end, sizeof trailer);
    if (trailer.message != static_cast<std::uint32_t>(transfer.message) ||
        bytes > total - transfer.moved) {
      return fail("sender and receiver disagree on sizes");
    }
    take_credit(trailer.credit);
    copy_in(transfer.layout, transfer.moved, end - round_up<std::size_t>(bytes, 8), bytes);
    transfer.moved += bytes;
    wire_.set_consumed(++slots_consumed_);
    if (return_credit() == Status::failed) return Status::failed;
  }
  return Status::ok;
}

Status Channel::return_credit() noexcept {
  // Half a ring at a time, so that credits cost little and the sender is not held up.
  if (slots_consumed_ - slots_returned_ < kSlots / 2 || is_closed_by_peer()) return Status::ok;
  return tell_credit();
}

Status Channel::tell_credit() noexcept {
  const Status status =
      wire_.commit(kMailboxOffset + offsetof(Mailbox, credit), 8, slots_consumed_);
  if (status == Status::ok) slots_returned_ = slots_consumed_;
  return status;
}

}  // namespace weft::verbs
