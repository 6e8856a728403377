#include "verbs/channel/channel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace weft::verbs {

Channel::Channel(Wire& wire, std::uint64_t rendezvous_bytes) noexcept
    : wire_(wire), rendezvous_bytes_(rendezvous_bytes), slots_granted_(wire.slots()) {}

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
    return is_closed_by_peer() ? finish_closed() : fail(wire_.failure());
  }
  if (is_replaying()) {
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

void Channel::abort(const char* text) noexcept {
  constexpr std::size_t kOffset = kMailboxOffset + offsetof(Mailbox, abort_text);
  constexpr std::size_t kBytes = sizeof(Mailbox::abort_text);
  auto* out = reinterpret_cast<char*>(wire_.outbox() + kOffset);
  const std::size_t length = std::min(std::strlen(text), kBytes - 1);
  std::copy_n(text, length, out);
  std::memset(out + length, 0, kBytes - length);
  aborted_ = true;
  // If the connection does not accept it, the peer finds the connection broken anyway.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (wire_.commit(kOffset, kBytes + 8, 1) != Status::again || wire_.poll() == Status::failed)
      return;
  }
}

Status Channel::close() noexcept {
  if (is_replaying()) return Status::again;
  // The next use numbers its calls anew. This word arrives before the close.
  if (told_call_ != 0) {
    const Status told = wire_.commit(kMailboxOffset + offsetof(Mailbox, call), 8, 0);
    if (told != Status::ok) return told;
    told_call_ = 0;
  }
  const Status status = wire_.commit(kMailboxOffset + offsetof(Mailbox, closed), 8, wire_.uses());
  if (status == Status::ok) closed_ = wire_.uses();
  return status;
}

void Channel::tell_call(std::uint64_t word) noexcept {
  if (word == told_call_ || said_close() || is_replaying()) return;
  if (wire_.commit(kMailboxOffset + offsetof(Mailbox, call), 8, word) == Status::ok) {
    told_call_ = word;
  }
}

bool Channel::find_mismatch() noexcept {
  const Transfer* waiting = recvs_.head;
  if (waiting == nullptr || !waiting->announced) return false;
  const std::uint64_t end = load_acquire(wire_.slot_end(slots_consumed_));
  const auto sequence = std::bit_cast<std::array<std::uint32_t, 2>>(end)[1];
  // What the peer sends after a large message arrives after the end of its window.
  if (sequence != slots_consumed_ + 1 || windows_finished(wire_.mailbox()) >= windows_opened_) {
    return false;
  }
  fail(kMismatch);
  return true;
}

std::optional<std::string_view> Channel::peer_abort() const noexcept {
  const Mailbox& box = wire_.mailbox();
  if (load_acquire(box.aborted) == 0) return std::nullopt;
  const char* text = box.abort_text.data();
  return std::string_view(text, ::strnlen(text, box.abort_text.size()));
}

}  // namespace weft::verbs
