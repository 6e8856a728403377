#include "comm/bootstrap/tcp_socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace weft::comm {

namespace {
constexpr std::size_t kPieceBytes = 256 << 10;
}

ArrivingMessage::State ArrivingMessage::fill(int socket, std::string& bytes, std::size_t wanted) {
  while (bytes.size() < wanted) {
    const std::size_t had = bytes.size();
    const std::size_t piece = std::min(wanted - had, kPieceBytes);
    bytes.resize(had + piece);
    ssize_t got = 0;
    do {
      got = ::recv(socket, bytes.data() + had, piece, 0);
    } while (got < 0 && errno == EINTR);
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::partial;
    if (got <= 0) return State::ended;
  }
  return State::whole;
}

ArrivingMessage::State ArrivingMessage::read(int socket,
                                             std::initializer_list<MessageKind> expected) {
  if (!has_head_) {
    if (const State state = fill(socket, head_bytes_, kHeadBytes); state != State::whole) {
      return state;
    }
    const auto head = decode_head(std::as_bytes(std::span(head_bytes_)));
    if (!head || std::ranges::find(expected, head->kind) == expected.end()) return State::foreign;
    head_ = *head;
    has_head_ = true;
  }
  return fill(socket, body_, head_.bytes);
}

TcpSocket::TcpSocket(File socket, int peer) : file_(std::move(socket)), peer_(peer) {
  const int on = 1;
  ::setsockopt(get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int flags = ::fcntl(get(), F_GETFL);
  if (flags < 0 || ::fcntl(get(), F_SETFL, flags & ~O_NONBLOCK) != 0) throw_errno("fcntl(socket)");
}

void TcpSocket::send(std::string_view message) {
  while (!message.empty()) {
    const ssize_t sent = ::send(get(), message.data(), message.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) lost();
    message.remove_prefix(static_cast<std::size_t>(sent));
  }
}

ArrivingMessage TcpSocket::receive(MessageKind kind) {
  ArrivingMessage message;
  auto state = ArrivingMessage::State::partial;
  while (state == ArrivingMessage::State::partial) {
    state = message.read(get(), {kind, MessageKind::failure, MessageKind::farewell});
  }
  if (state == ArrivingMessage::State::ended) lost();
  if (state == ArrivingMessage::State::foreign) refuse();
  if (message.kind() == MessageKind::failure) throw_failure(message);
  if (message.kind() == MessageKind::farewell && kind != MessageKind::farewell) lost();
  return message;
}

void TcpSocket::throw_failure(const ArrivingMessage& message) const {
  const auto failure = decode_failure(message.body());
  if (!failure) refuse();
  if (failure->is_usage_error) throw UsageError(failure->text);
  throw PeerError(failure->text);
}

bool TcpSocket::has_something(std::chrono::milliseconds patience) const {
  pollfd entry{get(), POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(patience.count())) > 0;
}

void TcpSocket::require_no_failure() {
  std::byte bytes[kHeadBytes];
  const ssize_t got = ::recv(get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (got != static_cast<ssize_t>(sizeof bytes)) return;
  const auto head = decode_head(bytes);
  if (head && head->kind == MessageKind::failure) receive(MessageKind::failure);
  if (head && head->kind == MessageKind::farewell) {
    receive(MessageKind::farewell);
    has_left_ = true;
  }
}

std::vector<std::string> TcpSocket::receive_texts(std::size_t count) {
  const ArrivingMessage message = receive(MessageKind::texts);
  auto texts = decode_texts(message.body(), count);
  if (!texts) refuse();
  return std::move(*texts);
}

std::vector<Whereabouts> TcpSocket::receive_table(std::size_t ranks) {
  const ArrivingMessage message = receive(MessageKind::table);
  auto table = decode_table(message.body(), ranks);
  if (!table) refuse();
  return std::move(*table);
}

bool TcpSocket::has_ended() const {
  if (has_left_) return false;
  char byte = 0;
  const ssize_t got = ::recv(get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void TcpSocket::lost() const {
  throw PeerError(fmt::format("rank {}: its bootstrap connection has ended", peer_));
}

void TcpSocket::refuse() const {
  throw PeerError(fmt::format("rank {}: not a message of this bootstrap", peer_));
}

bool send_at_once(int socket, std::string_view message) noexcept {
  const ssize_t sent = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(message.size());
}

}  // namespace weft::comm
