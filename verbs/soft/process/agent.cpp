#include "verbs/soft/process/agent.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"
#include "verbs/soft/process/process.hpp"

namespace weft::soft {

namespace {

enum class Source : std::uint64_t { listener, connection, peer };

std::uint64_t tag(Source source, std::uint32_t value) {
  return static_cast<std::uint64_t>(source) << 32 | value;
}

/// Swallows the packet that was peeked at.
void discard(int connection) noexcept {
  std::byte none{};
  // A packet that stayed would be answered twice, and each later answer taken for another's.
  while (::recv(connection, &none, 0, MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

int put(int connection, Request& request) noexcept {
  // The kernel writes straight to the target and reports a bad address instead of raising SIGSEGV.
  const std::array<iovec, 2> parts = {
      iovec{&request, sizeof(request)},
      iovec{reinterpret_cast<void*>(request.address), request.length}};
  std::size_t bytes = 0;
  return receive_packet(connection, parts, bytes);
}

bool get(int connection, const Request& request) noexcept {
  Reply reply{};
  const std::array<iovec, 2> parts = {
      iovec{&reply, sizeof(reply)},
      iovec{reinterpret_cast<void*>(request.address), request.length}};
  const int error = send_packet(connection, parts);
  if (error == 0) return true;
  reply.error = error;
  return send_packet(connection, {parts.data(), 1}) == 0;
}

std::uint64_t apply_atomic(const Request& request) noexcept {
  std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(request.address));
  if (request.kind == RequestKind::fetch_add) return word.fetch_add(request.operand);
  std::uint64_t seen = request.compare;
  word.compare_exchange_strong(seen, request.operand);
  return seen;
}

}  // namespace

void start_thread(const char* name, void (*body)(void*), void* argument) {
  try {
    std::thread thread = quiet_thread([body, argument] { body(argument); });
    ::pthread_setname_np(thread.native_handle(), name);
    thread.detach();
  } catch (const std::system_error& error) {
    throw SystemError(fmt::format("starting thread {}", name), error.code().value());
  }
}

Agent::Agent(Process& process, int listener)
    : process_(process), listener_(listener), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw_errno("epoll_create1");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = tag(Source::listener, 0)}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_, &event) != 0) throw_errno("epoll_ctl");
  start_thread(
      "weft-agent", [](void* self) { static_cast<Agent*>(self)->serve(); }, this);
}

void Agent::watch(const Peer& peer) noexcept {
  epoll_event event{.events = EPOLLRDHUP | EPOLLONESHOT,
                    .data = {.u64 = tag(Source::peer, peer.slot())}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer.connection(), &event);
}

void Agent::close_connections() noexcept {
  for (const int connection : connections_) ::close(connection);
  connections_.clear();
  epoll_.reset();
}

void Agent::serve() noexcept {
  std::array<epoll_event, 16> events{};
  for (;;) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const auto source = static_cast<Source>(events[static_cast<std::size_t>(i)].data.u64 >> 32);
      const auto value = static_cast<std::uint32_t>(events[static_cast<std::size_t>(i)].data.u64);
      if (source == Source::listener) accept_one();
      if (source == Source::peer) process_.peer_hung_up(value);
      if (source == Source::connection && !answer(static_cast<int>(value))) {
        forget(static_cast<int>(value));
      }
    }
  }
}

void Agent::accept_one() noexcept {
  std::lock_guard lock(connections_mutex_);
  File connection(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return;
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
      credentials.uid != ::geteuid()) {
    return;
  }
  epoll_event event{
      .events = EPOLLIN,
      .data = {.u64 = tag(Source::connection, static_cast<std::uint32_t>(connection.get()))}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) return;
  connections_.insert(connection.release());
}

void Agent::forget(int connection) noexcept {
  std::lock_guard lock(connections_mutex_);
  connections_.erase(connection);
  ::close(connection);
}

bool Agent::answer(int connection) noexcept {
  std::array<std::byte, sizeof(Request)> bytes;
  const ssize_t peeked = ::recv(connection, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (peeked < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (peeked < 0) return false;
  const auto decoded = decode_request(std::span(bytes).first(static_cast<std::size_t>(peeked)));
  if (!decoded) return false;
  Request request = *decoded;
  if (request.kind == RequestKind::put) {
    const Reply reply = {.error = put(connection, request)};
    const iovec part = {const_cast<Reply*>(&reply), sizeof(reply)};
    return send_packet(connection, {&part, 1}) == 0;
  }
  discard(connection);
  if (request.kind == RequestKind::get) return get(connection, request);
  if (request.kind == RequestKind::fetch_add || request.kind == RequestKind::compare_swap) {
    const Reply reply = {.value = apply_atomic(request)};
    const iovec part = {const_cast<Reply*>(&reply), sizeof(reply)};
    return send_packet(connection, {&part, 1}) == 0;
  }
  return answer_descriptor(connection, request);
}

bool Agent::answer_descriptor(int connection, const Request& request) noexcept {
  Reply reply{};
  bool sent = false;
  const auto send = [&](int descriptor) {
    if (descriptor < 0) reply.error = ENOENT;
    const iovec part = {&reply, sizeof(reply)};
    sent = send_packet(connection, {&part, 1}, descriptor) == 0;
  };
  switch (request.kind) {
    case RequestKind::segment:
      reply.value = static_cast<std::uint64_t>(::getpid());
      send(process_.file().descriptor());
      break;
    case RequestKind::region:
      process_.with_region(request.id, request.epoch, [&](const SharedFile* shared) {
        if (shared != nullptr) reply.value = shared->offset;
        send(shared != nullptr ? shared->file->get() : -1);
      });
      break;
    case RequestKind::channel:
      process_.with_channel(request.id, send);
      break;
    default:
      return false;
  }
  return sent;
}

}  // namespace weft::soft
