// Inbox of a channel that a hostile peer writes: what it says makes the channel fail, but never
// read or write outside of the caller's messages and its own memory.
//
// The input is a list of steps: a byte that says which, and what it needs.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "target.hpp"
#include "verbs/channel/channel.hpp"

namespace {

using namespace weft::verbs;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t bytes) : data_(data), left_(bytes) {}
  bool is_empty() const { return left_ == 0; }
  std::uint32_t take(std::size_t bytes) {
    std::uint32_t value = 0;
    const std::size_t many = std::min(bytes, left_);
    std::memcpy(&value, data_, many);
    data_ += many;
    left_ -= many;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// This end; the peer is the input.
class HostileWire final : public Wire {
 public:
  HostileWire(bool puts, bool keys) : puts_allowed_(puts), keys_(keys) {
    use_polled_inbox(reinterpret_cast<std::byte*>(inbox_memory_.get()));
    outbox_ = reinterpret_cast<std::byte*>(outbox_memory_.get());
    bounce_ = {bounces_.data(), 7};
  }
  Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override {
    weft::test::must(bytes % 8 == 0 && offset + bytes <= kInboxBytes);
    std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
    return Status::ok;
  }
  bool can_put() const noexcept override { return puts_allowed_; }
  bool needs_keys() const noexcept override { return keys_; }
  const Bounce* bounce_out() noexcept override { return &bounce_; }
  const Bounce* bounce_in() noexcept override { return &bounce_; }
  Status put(std::uint64_t, const RemoteKeys&, const std::byte* local, std::uint32_t,
             std::size_t bytes) noexcept override {
    // What it sends to the peer's memory is its own message.
    std::vector<std::byte> sent(local, local + bytes);
    puts_done_ = ++puts_;
    return Status::ok;
  }
  Status poll() noexcept override { return Status::ok; }
  const char* failure() const noexcept override { return ""; }
  template <class Words>
  void write(std::size_t offset, const Words& words) noexcept {
    std::memcpy(inbox_ + offset, &words, sizeof words);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  // Apart, so that a sanitizer sees each byte beside them.
  std::unique_ptr<Line[]> inbox_memory_ = std::make_unique<Line[]>(kInboxBytes / sizeof(Line));
  std::unique_ptr<Line[]> outbox_memory_ = std::make_unique<Line[]>(kInboxBytes / sizeof(Line));
  std::vector<std::byte> bounces_ = std::vector<std::byte>(kBounceBytes);
  Bounce bounce_;
  bool puts_allowed_, keys_;
};

struct Message {
  std::vector<std::byte> memory;
  Transfer transfer;
};

std::unique_ptr<Message> message(Input& input) {
  auto made = std::make_unique<Message>();
  Layout& layout = made->transfer.layout;
  layout.block_bytes = 1 + input.take(2) % 20000;
  layout.count = 1 + input.take(1) % 3;
  layout.stride = layout.block_bytes + input.take(1);
  layout.key = input.take(1) % 2;
  made->memory.resize((layout.count - 1) * layout.stride + layout.block_bytes);
  layout.base = made->memory.data();
  made->transfer.key = input.take(1) % 2;
  return made;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  Input input(data, bytes);
  const std::uint32_t how = input.take(1);
  HostileWire wire(how % 2 != 0, how / 2 % 2 != 0);
  Channel channel(wire, 4096);
  std::vector<std::unique_ptr<Message>> messages;
  while (!input.is_empty()) {
    switch (input.take(1) % 7) {
      case 0:  // a word of the mailbox
        wire.write(kMailboxOffset + input.take(1) % (sizeof(Mailbox) / 8) * 8,
                   std::uint64_t{input.take(4)});
        break;
      case 1: {  // the end of a slot
        const std::size_t slot = input.take(1) % kSlots;
        const std::uint64_t length = input.take(2);
        const std::uint64_t sequence = input.take(1);
        const std::size_t end = (slot + 1) * kSlotBytes;
        wire.write(end - 16, input.take(1) | std::uint64_t{input.take(1)} << 32U);
        wire.write(end - 8, length | sequence << 32U);
        break;
      }
      case 2:
        messages.push_back(message(input));
        channel.send(messages.back()->transfer);
        break;
      case 3:
        messages.push_back(message(input));
        channel.recv(messages.back()->transfer);
        break;
      case 4: {  // a window
        const ClearToSend clear{input.take(4),
                                input.take(4),
                                input.take(1),
                                input.take(2),
                                input.take(1),
                                input.take(2),
                                {},
                                input.take(1)};
        wire.write(kMailboxOffset + offsetof(Mailbox, clear_to_send), clear);
        break;
      }
      case 5:
        if (const auto said = channel.peer_abort())
          weft::test::must(said->find('\0') == said->npos);
        (void)channel.find_mismatch();
        [[fallthrough]];
      default:
        if (channel.progress() == Status::failed) return 0;
    }
  }
  return 0;
}
