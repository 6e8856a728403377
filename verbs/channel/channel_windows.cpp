// Channel, large messages: windows that the receiver opens and the sender fills.
#include <algorithm>
#include <cstring>

#include "base/cast.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::verbs {

namespace {

// A put of this size keeps a queue busy while the next one is prepared, and limits the time of one
// work request.
constexpr std::uint64_t kPutBytes = 1 << 20;
// A smaller share of a window is not worth a lane of its own.
constexpr std::uint64_t kLeastPieceBytes = 32 << 10;
constexpr std::uint64_t kAlignment = 4096;

}  // namespace

Status Channel::send_straight(Transfer& transfer) noexcept {
  while (!transfer.announced) {
    const Status status = fill_window(transfer);
    if (status != Status::ok) return status;
  }
  return wire_.puts_done() >= transfer.ticket ? Status::ok : Status::again;
}

Status Channel::fill_window(Transfer& transfer) noexcept {
  if (load_acquire(wire_.mailbox().clear_to_send.window) != windows_filled_ + 1) {
    return Status::again;
  }
  // The memory behind the window may be somebody else's by now.
  if (peer_abort()) return Status::again;
  // A copy: what was looked at is what is used, even if the peer writes it anew.
  const ClearToSend clear = wire_.mailbox().clear_to_send;
  const std::uint64_t total = transfer.layout.bytes();
  std::uint64_t bytes = 0;
  const bool is_too_large = __builtin_mul_overflow(clear.block_bytes, clear.count, &bytes) ||
                            bytes < filling_ || bytes - filling_ > total - transfer.moved;
  if (clear.message != tag(transfer) || clear.total != total || is_too_large || bytes == 0) {
    return fail(kMismatch);
  }
  if (filling_ == 0) window_begin_ = transfer.moved;
  while (filling_ < bytes) {
    const Status status = put(transfer, clear);
    if (status != Status::ok) return status;
  }
  if (!wire_.lands_in_order()) return Status::again;
  // Once the end is announced the receiver may write the next clear to send over this one.
  const Status status =
      wire_.commit(kMailboxOffset + offsetof(Mailbox, finished), 8, windows_filled_ + 1);
  if (status != Status::ok) return status;
  ++windows_filled_;
  filling_ = 0;
  transfer.announced = transfer.moved == total;
  return Status::ok;
}

/// Bytes of one put of a window: an even share for each lane of the wire, cut into pieces of at
/// most about kPutBytes.
std::uint64_t Channel::piece_bytes(std::uint64_t window_bytes) const noexcept {
  const std::uint64_t lanes = wire_.lanes_in_use();
  if (lanes < 2 || window_bytes < lanes * kLeastPieceBytes) return kPutBytes;
  const std::uint64_t share = (window_bytes + lanes - 1) / lanes;
  const std::uint64_t pieces = (share + kPutBytes - 1) / kPutBytes;
  return round_up((share + pieces - 1) / pieces, std::uint64_t{kAlignment});
}

/// Puts the next run of bytes that is in one block at both ends.
Status Channel::put(Transfer& transfer, const ClearToSend& clear) noexcept {
  const Layout& layout = transfer.layout;
  const std::uint64_t there = filling_ / clear.block_bytes;
  const std::uint64_t there_skip = filling_ - there * clear.block_bytes;
  const std::uint64_t here = transfer.moved / layout.block_bytes;
  const std::uint64_t here_skip = transfer.moved - here * layout.block_bytes;
  std::uint64_t run =
      std::min(clear.block_bytes - there_skip, piece_bytes(clear.block_bytes * clear.count));
  const std::byte* local = layout.base + here * layout.stride + here_skip;
  std::uint32_t key = layout.key;
  const bool bounced = bounces(transfer);
  if (bounced) {
    const Wire::Bounce* bounce = wire_.bounce_out();
    if (bounce == nullptr) return fail("no memory could be registered to send from");
    if (wire_.puts_done() < bounce_busy_) return Status::again;
    run = std::min({run, layout.bytes() - transfer.moved, std::uint64_t{Wire::kBounceBytes}});
    copy_out(layout, transfer.moved, bounce->memory, run);
    local = bounce->memory;
    key = bounce->key;
  } else {
    run = std::min(run, layout.block_bytes - here_skip);
  }
  const Status status =
      wire_.put(clear.address + there * clear.stride + there_skip, clear.keys, local, key, run);
  if (status != Status::ok) return status;
  transfer.moved += run;
  filling_ += run;
  transfer.ticket = wire_.puts();
  if (bounced) bounce_busy_ = transfer.ticket;
  return Status::ok;
}

Status Channel::recv_straight(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (true) {
    if (!transfer.announced) {
      const Status status = open_window(transfer);
      if (status != Status::ok) return status;
    }
    if (windows_finished(wire_.mailbox()) < windows_opened_) return Status::again;
    if (!bounces(transfer)) return Status::ok;
    const std::uint64_t bytes = std::min(total - transfer.moved, std::uint64_t{Wire::kBounceBytes});
    copy_in(transfer.layout, transfer.moved, wire_.bounce_in()->memory, bytes);
    transfer.moved += bytes;
    transfer.announced = false;
    if (transfer.moved == total) return Status::ok;
  }
}

Status Channel::open_window(Transfer& transfer) noexcept {
  const Layout& layout = transfer.layout;
  ClearToSend clear{reinterpret_cast<std::uint64_t>(layout.base),
                    layout.block_bytes,
                    layout.count,
                    layout.stride,
                    tag(transfer),
                    layout.bytes(),
                    wire_.remote_keys(layout.key),
                    windows_opened_ + 1};
  if (bounces(transfer)) {
    const Wire::Bounce* bounce = wire_.bounce_in();
    if (bounce == nullptr) return fail("no memory could be registered to receive into");
    clear.address = reinterpret_cast<std::uint64_t>(bounce->memory);
    clear.block_bytes = clear.stride =
        std::min(clear.total - transfer.moved, std::uint64_t{Wire::kBounceBytes});
    clear.count = 1;
    clear.keys = wire_.remote_keys(bounce->key);
  }
  constexpr std::size_t kOffset = kMailboxOffset + offsetof(Mailbox, clear_to_send);
  std::memcpy(wire_.outbox() + kOffset, &clear, sizeof clear - 8);
  const Status status = wire_.commit(kOffset, sizeof clear, clear.window);
  if (status != Status::ok) return status;
  ++windows_opened_;
  transfer.announced = true;
  return Status::ok;
}

}  // namespace weft::verbs
