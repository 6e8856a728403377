// Packets of the software device's sockets, with descriptors that a peer passes along. The first
// byte says how many descriptors, and whether one is expected; the rest is the packet.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <vector>

#include "target.hpp"
#include "verbs/soft/process/agent_protocol.hpp"

namespace {

using namespace weft::soft;
using weft::File;

constexpr int kMostPassed = 7;

/// Which descriptors behind `first` are open, a bit each.
unsigned open_behind(int first) {
  unsigned open = 0;
  for (int i = 1; i <= 2 * kMostPassed; ++i) {
    if (::fcntl(first + i, F_GETFD) != -1) open |= 1U << i;
  }
  return open;
}

void send_with(int socket, const std::vector<std::uint8_t>& packet, int descriptors) {
  iovec part{const_cast<std::uint8_t*>(packet.data()), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostPassed * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    const std::size_t bytes = static_cast<std::size_t>(descriptors) * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    for (int i = 0; i < descriptors; ++i) {
      std::memcpy(CMSG_DATA(header) + static_cast<std::size_t>(i) * sizeof(int), &socket,
                  sizeof socket);
    }
  }
  weft::test::must(::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0 || bytes > 4096) return 0;
  const std::vector<std::uint8_t> packet(data + 1, data + bytes);
  const auto decoded = decode_request(std::as_bytes(std::span(packet)));
  if (decoded) {
    weft::test::must(packet.size() == sizeof(Request) && decoded->length <= kPacketBytes &&
                     decoded->kind <= RequestKind::compare_swap);
  }
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return 0;
  }
  const File here(ends[0]), there(ends[1]);
  const unsigned open_before = open_behind(there.get());
  send_with(there.get(), packet, data[0] % (kMostPassed + 1));
  {
    Reply reply{};
    const iovec part{&reply, sizeof reply};
    std::size_t got = 0;
    File passed;
    const bool expects = data[0] / 8 % 2 != 0;
    const int error = receive_packet(here.get(), {&part, 1}, got, expects ? &passed : nullptr);
    weft::test::must(error != 0 || got <= sizeof reply);
  }
  // What nobody asked for is closed.
  weft::test::must(open_behind(there.get()) == open_before);
  return 0;
}
