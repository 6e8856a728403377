// A channel whose peer writes what it likes into the inbox: the channel fails, and reads and writes
// nothing outside of its inbox and its caller's messages.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "verbs/channel/channel.hpp"

namespace weft::verbs::hostile_peer_test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kInboxPages = (kInboxBytes + kPage - 1) / kPage;

/// This end of a wire. Its inbox ends, or begins, at a page that nobody may touch.
class HostileWire final : public Wire {
 public:
  enum class Guard { before, behind };

  HostileWire(Guard guard, bool puts) : puts_allowed_(puts) {
    constexpr std::size_t bytes = (kInboxPages + 2) * kPage;
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_, kPage, PROT_NONE);
    ::mprotect(memory_ + bytes - kPage, kPage, PROT_NONE);
    use_polled_inbox(guard == Guard::before ? memory_ + kPage
                                            : memory_ + bytes - kPage - kInboxBytes);
    outgoing_.resize(kInboxBytes);
    outbox_ = outgoing_.data();
  }
  ~HostileWire() override { ::munmap(memory_, (kInboxPages + 2) * kPage); }

  Status commit(std::size_t /*offset*/, std::size_t /*bytes*/,
                std::uint64_t /*last*/) noexcept override {
    return Status::ok;
  }
  bool can_put() const noexcept override { return puts_allowed_; }
  Status put(std::uint64_t /*remote*/, const RemoteKeys& /*keys*/, const std::byte* local,
             std::uint32_t /*key*/, std::size_t bytes) noexcept override {
    sent_.insert(sent_.end(), local, local + bytes);
    puts_done_ = ++puts_;
    return Status::ok;
  }
  Status poll() noexcept override { return Status::ok; }
  const char* failure() const noexcept override { return ""; }

  void write(std::size_t offset, const void* bytes, std::size_t size) {
    std::memcpy(inbox_ + offset, bytes, size);
  }
  void write_slot(std::size_t slot, const Trailer& trailer) {
    write((slot + 1) * kSlotBytes - sizeof trailer, &trailer, sizeof trailer);
  }
  void write_window(const ClearToSend& clear) {
    write(kMailboxOffset + offsetof(Mailbox, clear_to_send), &clear, sizeof clear);
  }
  const std::vector<std::byte>& sent() const { return sent_; }

 private:
  bool puts_allowed_;
  std::byte* memory_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> sent_;
};

Transfer transfer(std::vector<std::byte>& memory) {
  Transfer made;
  made.layout = {memory.data(), memory.size(), 1, memory.size(), 0};
  return made;
}

TEST(HostilePeer, GivesSlotsMoreBytesThanTheyHave) {
  // The payload would begin before the inbox.
  HostileWire wire(HostileWire::Guard::before, false);
  Channel channel(wire, 1 << 20);
  std::vector<std::byte> memory(100'000);
  Transfer message = transfer(memory);
  channel.recv(message);
  wire.write_slot(0, {0, 1, 10'000, 1});
  EXPECT_EQ(channel.progress(), Status::failed);
  EXPECT_TRUE(channel.is_mismatch());
  EXPECT_FALSE(message.done);
}

TEST(HostilePeer, OpensAWindowOfMoreBytesThanTheMessageHas) {
  HostileWire wire(HostileWire::Guard::before, true);
  Channel channel(wire, 1024);
  // Of two messages the second must not be sent as a part of the first.
  std::vector<std::byte> memory(4096);
  Transfer message = transfer(memory);
  message.layout.block_bytes = message.layout.stride = 2048;
  channel.send(message);
  wire.write_window({0x1000, 4096, 4, 4096, 1, 2048, {}, 1});
  EXPECT_EQ(channel.progress(), Status::failed);
  EXPECT_TRUE(channel.is_mismatch());
  EXPECT_LE(wire.sent().size(), 2048u);
}

TEST(HostilePeer, OpensWindowsThatAreNoMemory) {
  // Of no bytes; of no blocks; of so many that their sum is too large for a number.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> shapes = {
      {0, 1}, {2048, 0}, {std::uint64_t{1} << 63, 2}, {(std::uint64_t{1} << 63) + 1024, 2}};
  for (const auto& [block_bytes, count] : shapes) {
    HostileWire wire(HostileWire::Guard::before, true);
    Channel channel(wire, 1024);
    std::vector<std::byte> memory(2048);
    Transfer message = transfer(memory);
    channel.send(message);
    wire.write_window({0x1000, block_bytes, count, 0, 1, 2048, {}, 1});
    EXPECT_EQ(channel.progress(), Status::failed) << block_bytes << " x " << count;
    EXPECT_TRUE(wire.sent().empty());
  }
}

TEST(HostilePeer, AbortsWithATextThatDoesNotEnd) {
  HostileWire wire(HostileWire::Guard::behind, false);
  Channel channel(wire, 1024);
  const std::vector<char> letters(sizeof(Mailbox), 'x');
  wire.write(kMailboxOffset, letters.data(), letters.size());
  const auto said = channel.peer_abort();
  ASSERT_TRUE(said);
  EXPECT_EQ(std::string(*said), std::string(sizeof(Mailbox::abort_text), 'x'));
}

}  // namespace
}  // namespace weft::verbs::hostile_peer_test
