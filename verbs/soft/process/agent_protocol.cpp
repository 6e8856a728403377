#include "verbs/soft/process/agent_protocol.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft::soft {

namespace {

/// Whether the last call of a socket failed for a reason that passes. Counts `attempts`.
bool may_try_again(int& attempts) noexcept {
  constexpr int kAttempts = 100;
  if (errno == EINTR) return true;
  return (errno == ENOMEM || errno == ENOBUFS) && ++attempts < kAttempts;
}

}  // namespace

std::optional<Request> decode_request(std::span<const std::byte> bytes) noexcept {
  Request request;
  if (bytes.size() != sizeof request) return std::nullopt;
  std::memcpy(&request, bytes.data(), sizeof request);
  const bool is_atomic =
      request.kind == RequestKind::fetch_add || request.kind == RequestKind::compare_swap;
  if (request.kind > RequestKind::compare_swap || request.length > kPacketBytes) {
    return std::nullopt;
  }
  if (is_atomic && request.address % sizeof(std::uint64_t) != 0) return std::nullopt;
  return request;
}

SlotAddress::SlotAddress(std::uint32_t slot) noexcept {
  static_assert(sizeof(storage) >= sizeof(sockaddr_un));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const int written = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "weft-soft.%u.%u",
                                    ::geteuid(), slot);
  std::memcpy(storage, &name, sizeof(name));
  length = static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path) + 1 + written);
}

int send_packet(int socket, std::span<const iovec> parts, int passed) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof(int));
  }
  ssize_t sent = 0;
  int attempts = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && may_try_again(attempts));
  return sent < 0 ? errno : 0;
}

int receive_packet(int socket, std::span<const iovec> parts, std::size_t& bytes,
                   File* passed) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  // Of one descriptor, without the padding in which the kernel would pass another.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  ssize_t received = 0;
  int attempts = 0;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && may_try_again(attempts));
  if (received < 0) return errno;
  bytes = static_cast<std::size_t>(received);
  // First: an empty packet looks like the end, and may have passed one, too.
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    File file(descriptor);
    if (passed != nullptr) *passed = std::move(file);
  }
  return received == 0 ? ECONNRESET : 0;
}

}  // namespace weft::soft
