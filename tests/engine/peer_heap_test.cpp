// The shared heap of another process: mapped, read and written, found by its file.
#include "engine/heap/peer_heap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/heap/heap.hpp"
#include "tests/engine/fresh_process.hpp"

namespace weft::engine::peer_heap_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

/// What `body` returns in a child.
template <class Body>
std::string said_in_child(Body body) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const File reads(ends[0]);
  File writes(ends[1]);
  const pid_t child = begin_child([&] {
    const std::string said = body();
    EXPECT_EQ(::write(writes.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
  });
  writes.reset();
  std::string said(200, '\0');
  const ssize_t got = ::read(reads.get(), said.data(), said.size());
  said.resize(static_cast<std::size_t>(got > 0 ? got : 0));
  EXPECT_EQ(code_of(child), 0);
  return said;
}

/// A process with a heap, which obeys commands of one character.
class Peer {
 public:
  Peer() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_.data()), 0);
    child_ = begin_child([this] { serve(); });
    ::close(sockets_[1]);
    handle_.resize(PeerHeap::handle_bytes());
    receive(handle_.data(), handle_.size());
    receive(&block_, sizeof block_);
  }
  ~Peer() {
    ::close(sockets_[0]);
    EXPECT_EQ(code_of(child_), 0);
  }

  const std::string& handle() const { return handle_; }
  std::uint64_t block() const { return block_; }
  /// The first byte of its block.
  char tell(char what) {
    EXPECT_EQ(::write(sockets_[0], &what, 1), 1);
    char answer = 0;
    receive(&answer, 1);
    return answer;
  }

 private:
  void receive(void* into, std::size_t bytes) {
    EXPECT_EQ(::recv(sockets_[0], into, bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
  }
  void serve() {
    ::close(sockets_[0]);
    EXPECT_EQ(heap::start(0), "");
    auto* block = static_cast<char*>(heap::allocate(kBytes, 4096));
    std::memset(block, 'a', kBytes);
    const std::string handle = PeerHeap::handle();
    EXPECT_GT(::write(sockets_[1], handle.data(), handle.size()), 0);
    EXPECT_GT(::write(sockets_[1], &block, sizeof block), 0);
    char what = 0;
    while (::read(sockets_[1], &what, 1) == 1) {
      if (what == 'c') ::close(heap::descriptor());
      if (what == 'w') std::memset(block, 'w', kBytes);
      if (what == 's') block[0] = ::ftruncate(heap::descriptor(), 0) == 0 ? 's' : '-';
      EXPECT_EQ(::write(sockets_[1], block, 1), 1);
    }
  }

  std::array<int, 2> sockets_{};
  pid_t child_ = 0;
  std::string handle_;
  std::uint64_t block_ = 0;
};

class PeerHeapTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's allocator stays";
#endif
  }
};

TEST_F(PeerHeapTest, IsReadAndWrittenInPlace) {
  Peer peer;
  const PeerHeap heap = PeerHeap::attach(peer.handle());
  ASSERT_TRUE(heap);
  std::byte* block = heap.find(peer.block(), kBytes);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(static_cast<char>(block[kBytes - 1]), 'a');
  peer.tell('w');
  EXPECT_EQ(static_cast<char>(block[kBytes - 1]), 'w');
  block[0] = std::byte{'x'};
  EXPECT_EQ(peer.tell('?'), 'x');
}

TEST_F(PeerHeapTest, IsMappedOnce) {
  Peer peer;
  const PeerHeap first = PeerHeap::attach(peer.handle());
  const PeerHeap second = PeerHeap::attach(peer.handle());
  EXPECT_EQ(first.find(peer.block(), 1), second.find(peer.block(), 1));
}

TEST_F(PeerHeapTest, RefusesAddressesOutsideOfIt) {
  Peer peer;
  const PeerHeap heap = PeerHeap::attach(peer.handle());
  EXPECT_EQ(heap.find(0, 8), nullptr);
  EXPECT_EQ(heap.find(reinterpret_cast<std::uint64_t>(&peer), 8), nullptr);
  EXPECT_EQ(heap.find(peer.block(), std::uint64_t{1} << 50), nullptr);
  EXPECT_EQ(heap.find(peer.block(), UINT64_MAX), nullptr);
  EXPECT_FALSE(PeerHeap());
  EXPECT_EQ(PeerHeap().find(0, 0), nullptr);
}

TEST_F(PeerHeapTest, IsKnownByItsFileNotItsDescriptor) {
  Peer peer;
  peer.tell('c');
  EXPECT_THROW(PeerHeap::attach(peer.handle()), Error);
}

TEST_F(PeerHeapTest, StaysMappedAfterItsProcessHasEnded) {
  PeerHeap heap;
  std::uint64_t block = 0;
  {
    Peer peer;
    heap = PeerHeap::attach(peer.handle());
    block = peer.block();
  }
  EXPECT_EQ(static_cast<char>(*heap.find(block, 1)), 'a');
}

TEST_F(PeerHeapTest, ProcessWithoutAHeapHasAnEmptyHandle) {
  EXPECT_FALSE(PeerHeap::attach(PeerHeap::handle()));
}

// Whoever has it mapped would be ended by SIGBUS.
TEST_F(PeerHeapTest, CannotBeMadeShorterByItsProcess) {
  Peer peer;
  const PeerHeap heap = PeerHeap::attach(peer.handle());
  EXPECT_EQ(peer.tell('s'), '-');
  EXPECT_EQ(static_cast<char>(*heap.find(peer.block() + kBytes - 1, 1)), 'a');
}

/// The words of a handle: process, descriptor, begin, bytes, device and inode of the file.
using Words = std::array<std::uint64_t, 6>;

std::string handle_of(const Words& words) {
  return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

TEST_F(PeerHeapTest, OfAnotherSizeThanItsFileIsRefused) {
  Peer peer;
  Words words;
  ASSERT_EQ(peer.handle().size(), sizeof words);
  std::memcpy(words.data(), peer.handle().data(), sizeof words);
  words[3] *= 2;
  EXPECT_THROW(PeerHeap::attach(handle_of(words)), Error);
  const PeerHeap heap = PeerHeap::attach(peer.handle());
  EXPECT_THROW(PeerHeap::attach(handle_of(words)), Error);
}

TEST_F(PeerHeapTest, HandleOfAnotherBuildIsRefusedByItsSize) {
  try {
    PeerHeap::attach("short");
    FAIL() << "attached";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a handle of a heap, of 5 bytes, cannot be read: the rank that sent it runs "
                 "another build of weft");
  }
}

/// Why a file of these bytes and seals, which this process has, is refused as a heap.
std::string refusal_of(std::uint64_t bytes, unsigned seals, uid_t owner) {
  const File file(::memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  struct stat status {};
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  EXPECT_EQ(::fchown(file.get(), owner, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(::fstat(file.get(), &status), 0);
  const std::string handle =
      handle_of({static_cast<std::uint64_t>(::getpid()), static_cast<std::uint64_t>(file.get()),
                 4096, 8192, status.st_dev, status.st_ino});
  // A process does not attach a heap of its own.
  return said_in_child([&] {
    try {
      PeerHeap::attach(handle);
    } catch (const Error& error) {
      const std::string said = error.what();
      return said.substr(said.find("heap: ") + 6);
    }
    return std::string();
  });
}

TEST_F(PeerHeapTest, IsRefusedByWhatItsFileIs) {
  const uid_t own = ::geteuid();
  EXPECT_EQ(refusal_of(8192, F_SEAL_SHRINK, own), "");
  EXPECT_EQ(refusal_of(8191, F_SEAL_SHRINK, own), "8191 bytes, not 8192");
  EXPECT_EQ(refusal_of(8192, F_SEAL_GROW, own), "not sealed against being made shorter");
  if (own == 0) {
    EXPECT_EQ(refusal_of(8192, F_SEAL_SHRINK, 65534), "of user 65534");
  }
}

}  // namespace
}  // namespace weft::engine::peer_heap_test
