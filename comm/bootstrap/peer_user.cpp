#include "comm/bootstrap/peer_user.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/file.hpp"

namespace weft::comm {

namespace {

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 request;
};

constexpr uid_t kNobody = static_cast<uid_t>(-1);

bool ask(int netlink, int socket) noexcept {
  sockaddr_in own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return false;
  }
  Question question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  // The socket that is looked for has the peer's address for its own.
  question.request.id.idiag_sport = peer.sin_port;
  question.request.id.idiag_dport = own.sin_port;
  question.request.id.idiag_src[0] = peer.sin_addr.s_addr;
  question.request.id.idiag_dst[0] = own.sin_addr.s_addr;
  question.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return ::send(netlink, &question, sizeof question, 0) == sizeof question;
}

}  // namespace

std::optional<uid_t> user_of_peer(int socket) noexcept {
  const File netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const timeval patience{1, 0};
  if (!netlink ||
      ::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      !ask(netlink.get(), socket)) {
    return std::nullopt;
  }
  alignas(nlmsghdr) std::array<char, 1024> answer;
  const ssize_t got = ::recv(netlink.get(), answer.data(), answer.size(), 0);
  nlmsghdr head;
  if (got < static_cast<ssize_t>(sizeof head)) return std::nullopt;
  std::memcpy(&head, answer.data(), sizeof head);
  const std::size_t bytes = static_cast<std::size_t>(got) - NLMSG_HDRLEN;
  const char* body = answer.data() + NLMSG_HDRLEN;
  if (head.nlmsg_type == NLMSG_ERROR && bytes >= sizeof(nlmsgerr)) {
    nlmsgerr error;
    std::memcpy(&error, body, sizeof error);
    return error.error == -ENOENT ? std::optional(kNobody) : std::nullopt;
  }
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || bytes < sizeof(inet_diag_msg)) return std::nullopt;
  inet_diag_msg message;
  std::memcpy(&message, body, sizeof message);
  return message.idiag_uid;
}

}  // namespace weft::comm
