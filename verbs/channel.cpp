#include "verbs/channel.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/cast.hpp"

namespace weft::verbs {

namespace {

// A put this long keeps a queue busy while the next one is prepared, and bounds how long one
// work request holds it.
constexpr std::uint64_t kPutBytes = 1 << 20;

static_assert(sizeof(Trailer) == 16 && sizeof(ClearToSend) == 64);
static_assert(kSlotBytes % 64 == 0 && sizeof(Mailbox) % 64 == 0);

template <class Word>
Word load_acquire(const Word& word) noexcept {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_acquire);
}

/// Calls use(memory, bytes) for each contiguous run of `bytes` bytes from position `from`.
template <class Use>
void for_each_run(const Layout& layout, std::uint64_t from, std::uint64_t bytes, Use use) noexcept {
  std::uint64_t block = layout.count == 1 ? 0 : from / layout.block_bytes;
  std::uint64_t within = from - block * layout.block_bytes;
  while (bytes != 0) {
    const std::uint64_t run = std::min(bytes, layout.block_bytes - within);
    use(layout.base + block * layout.stride + within, run);
    bytes -= run;
    ++block;
    within = 0;
  }
}

}  // namespace

void copy_out(const Layout& layout, std::uint64_t from, std::byte* to, std::size_t bytes) noexcept {
  for_each_run(layout, from, bytes, [&](const std::byte* memory, std::uint64_t run) {
    std::memcpy(to, memory, run);
    to += run;
  });
}

void copy_in(const Layout& layout, std::uint64_t to, const std::byte* from,
             std::size_t bytes) noexcept {
  for_each_run(layout, to, bytes, [&](std::byte* memory, std::uint64_t run) {
    std::memcpy(memory, from, run);
    from += run;
  });
}

std::uint64_t windows_finished(std::byte* inbox) noexcept {
  return load_acquire(reinterpret_cast<Mailbox*>(inbox + kMailboxOffset)->finished);
}

bool said_goodbye(std::byte* inbox) noexcept {
  return load_acquire(reinterpret_cast<Mailbox*>(inbox + kMailboxOffset)->closed) != 0;
}

Channel::Channel(Wire& wire, std::uint64_t rendezvous_bytes) noexcept
    : wire_(wire), rendezvous_bytes_(rendezvous_bytes) {}

Mailbox& Channel::mailbox() const noexcept {
  return *reinterpret_cast<Mailbox*>(wire_.inbox() + kMailboxOffset);
}

void Channel::enqueue(Queue& queue, Transfer& transfer, std::uint64_t& counter) noexcept {
  transfer.moved = 0;
  transfer.done = false;
  transfer.announced = false;
  transfer.next = nullptr;
  transfer.message = ++counter;
  (queue.head == nullptr ? queue.head : queue.tail->next) = &transfer;
  queue.tail = &transfer;
}

void Channel::pop(Queue& queue) noexcept {
  Transfer* transfer = queue.head;
  queue.head = transfer->next;
  transfer->done = true;
}

Status Channel::fail(const char* why) noexcept {
  failure_ = why;
  return Status::failed;
}

Status Channel::progress() noexcept {
  if (failure_[0] != '\0') return Status::failed;
  if (wire_.poll() == Status::failed) {
    return is_closed_by_peer() ? finish_alone() : fail(wire_.failure());
  }
  if (wire_.is_resumable() || replaying_) {
    const Status status = replay();
    if (status == Status::failed && failure_[0] == '\0') failure_ = wire_.failure();
    if (status != Status::ok) return status == Status::failed ? status : Status::ok;
  }
  // The wire may have refused to return credit when it was due.
  if (return_credit() == Status::failed || progress_recv() == Status::failed ||
      progress_send() == Status::failed) {
    if (failure_[0] == '\0') failure_ = wire_.failure();
    return Status::failed;
  }
  return Status::ok;
}

Status Channel::progress_send() noexcept {
  while (Transfer* transfer = sends_.head) {
    const Status status = is_rendezvous(transfer->layout.bytes()) ? send_straight(*transfer)
                                                                  : send_fragments(*transfer);
    if (status != Status::ok) return status;
    pop(sends_);
  }
  return Status::ok;
}

Status Channel::progress_recv() noexcept {
  while (Transfer* transfer = recvs_.head) {
    const Status status = is_rendezvous(transfer->layout.bytes()) ? recv_straight(*transfer)
                                                                  : recv_fragments(*transfer);
    if (status != Status::ok) return status;
    pop(recvs_);
  }
  return Status::ok;
}

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

Status Channel::send_straight(Transfer& transfer) noexcept {
  while (!transfer.announced) {
    const Status status = fill_window(transfer);
    if (status != Status::ok) return status;
  }
  return wire_.puts_done() >= transfer.ticket ? Status::ok : Status::again;
}

Status Channel::fill_window(Transfer& transfer) noexcept {
  const ClearToSend& clear = mailbox().clear_to_send;
  if (load_acquire(clear.window) != windows_filled_ + 1) return Status::again;
  const std::uint64_t total = transfer.layout.bytes();
  const std::uint64_t bytes = clear.block_bytes * clear.count;
  if (clear.message != transfer.message || clear.total != total) {
    return fail("sender and receiver disagree on sizes");
  }
  if (filling_ == 0) window_begin_ = transfer.moved;
  while (filling_ < bytes) {
    const Status status = put(transfer, clear);
    if (status != Status::ok) return status;
  }
  // Once the end is announced the receiver may write the next clear to send over this one.
  const Status status =
      wire_.commit(kMailboxOffset + offsetof(Mailbox, finished), 8, windows_filled_ + 1);
  if (status != Status::ok) return status;
  ++windows_filled_;
  filling_ = 0;
  transfer.announced = transfer.moved == total;
  return Status::ok;
}

/// The next run of bytes, as long as it is in one block of both ends.
Status Channel::put(Transfer& transfer, const ClearToSend& clear) noexcept {
  const Layout& layout = transfer.layout;
  const std::uint64_t there = filling_ / clear.block_bytes;
  const std::uint64_t there_skip = filling_ - there * clear.block_bytes;
  const std::uint64_t here = transfer.moved / layout.block_bytes;
  const std::uint64_t here_skip = transfer.moved - here * layout.block_bytes;
  std::uint64_t run = std::min(clear.block_bytes - there_skip, kPutBytes);
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
    key = bounce->lkey;
  } else {
    run = std::min(run, layout.block_bytes - here_skip);
  }
  const Status status =
      wire_.put(clear.address + there * clear.stride + there_skip, clear.key, local, key, run);
  if (status != Status::ok) return status;
  transfer.moved += run;
  filling_ += run;
  transfer.ticket = wire_.puts();
  if (bounced) bounce_busy_ = transfer.ticket;
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

Status Channel::recv_straight(Transfer& transfer) noexcept {
  const std::uint64_t total = transfer.layout.bytes();
  while (true) {
    if (!transfer.announced) {
      const Status status = open_window(transfer);
      if (status != Status::ok) return status;
    }
    if (windows_finished(wire_.inbox()) < windows_opened_) return Status::again;
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
                    transfer.message,
                    layout.bytes(),
                    layout.key,
                    0,
                    windows_opened_ + 1};
  if (bounces(transfer)) {
    const Wire::Bounce* bounce = wire_.bounce_in();
    if (bounce == nullptr) return fail("no memory could be registered to receive into");
    clear.address = reinterpret_cast<std::uint64_t>(bounce->memory);
    clear.block_bytes = clear.stride =
        std::min(clear.total - transfer.moved, std::uint64_t{Wire::kBounceBytes});
    clear.count = 1;
    clear.key = bounce->rkey;
  }
  constexpr std::size_t offset = kMailboxOffset + offsetof(Mailbox, clear_to_send);
  std::memcpy(wire_.outbox() + offset, &clear, sizeof clear - 8);
  const Status status = wire_.commit(offset, sizeof clear, clear.window);
  if (status != Status::ok) return status;
  ++windows_opened_;
  transfer.announced = true;
  return Status::ok;
}

void Channel::abort(const char* text) noexcept {
  constexpr std::size_t offset = kMailboxOffset + offsetof(Mailbox, abort_text);
  constexpr std::size_t bytes = sizeof(Mailbox::abort_text);
  auto* out = reinterpret_cast<char*>(wire_.outbox() + offset);
  const std::size_t length = std::min(std::strlen(text), bytes - 1);
  std::memcpy(out, text, length);
  std::memset(out + length, 0, bytes - length);
  aborted_ = true;
  // A connection that cannot take it is found broken by the peer without it.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (wire_.commit(offset, bytes + 8, 1) != Status::again || wire_.poll() == Status::failed)
      return;
  }
}

Status Channel::close() noexcept {
  if (wire_.is_resumable() || replaying_) return Status::again;
  const Status status = wire_.commit(kMailboxOffset + offsetof(Mailbox, closed), 8, 1);
  if (status == Status::ok) closed_ = true;
  return status;
}

const char* Channel::peer_abort() const noexcept {
  const Mailbox& box = mailbox();
  return load_acquire(box.aborted) != 0 ? box.abort_text.data() : nullptr;
}

}  // namespace weft::verbs
