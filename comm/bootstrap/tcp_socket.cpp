#include "comm/bootstrap/tcp_socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::comm {

namespace {

constexpr std::uint64_t kMostBytes = 64 << 20;  // of one message; a larger one is not weft's

/// A socket that may be bound to the port of another such socket, as long as that does not listen.
File reusable_socket() {
  File file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file) throw_errno("socket");
  const int on = 1;
  ::setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return file;
}

}  // namespace

TcpSocket::TcpSocket(int descriptor, int peer) : file_(descriptor), peer_(peer) {
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void TcpSocket::write_all(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t sent = ::send(get(), at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) lost();
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void TcpSocket::read_all(void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t got = ::recv(get(), at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) lost();
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void TcpSocket::send(std::string_view text) {
  const std::uint64_t length = text.size();
  write_all(&length, sizeof length);
  write_all(text.data(), text.size());
}

std::string TcpSocket::receive() {
  std::uint64_t length = 0;
  read_all(&length, sizeof length);
  if (length > kMostBytes) throw PeerError(fmt::format("rank {}: not a message of weft's", peer_));
  std::string text(length, '\0');
  read_all(text.data(), length);
  return text;
}

bool TcpSocket::has_ended() const {
  char byte = 0;
  const ssize_t got = ::recv(get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void TcpSocket::lost() const {
  throw PeerError(fmt::format("rank {}: its bootstrap connection has ended", peer_));
}

sockaddr_in resolve_root(const std::string& root) {
  const auto colon = root.rfind(':');
  if (colon == root.npos || colon == 0)
    throw_usage("WEFT_ROOT={}: not of the form HOST:PORT", root);
  const std::string host = root.substr(0, colon);
  const auto port = env::parse_integer("WEFT_ROOT's port", root.substr(colon + 1), 1, 65535);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    throw_usage("WEFT_ROOT={}: {}", root, ::gai_strerror(error));
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  ::freeaddrinfo(found);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

File reserve_root(std::string& root) {
  File file = reusable_socket();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(file.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(file.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw_errno("bind(a port of 127.0.0.1)");
  }
  root = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  return file;
}

File listen_at(sockaddr_in address, const std::string& what) {
  File file = reusable_socket();
  if (::bind(file.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(file.get(), SOMAXCONN) != 0) {
    throw_errno(fmt::format("listen({})", what));
  }
  return file;
}

int connect_once(const sockaddr_in& address) {
  File file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file) throw_errno("socket");
  if (::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return -1;
  return file.release();
}

}  // namespace weft::comm
