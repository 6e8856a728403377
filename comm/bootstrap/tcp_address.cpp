#include "comm/bootstrap/tcp_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"

namespace weft::comm {

namespace {

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

File new_socket(int flags) {
  File file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!file) throw_errno("socket");
  return file;
}

/// A socket that may be bound to the port of another such socket, as long as that does not listen.
File reusable_socket(int flags) {
  File file = new_socket(flags);
  const int on = 1;
  ::setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return file;
}

std::string join(std::span<const sockaddr_in> addresses) {
  std::string list;
  for (const sockaddr_in& one : addresses) append_to_list(list, host_text(one));
  return list;
}

}  // namespace

bool is_loopback(const sockaddr_in& address) noexcept {
  return ntohl(address.sin_addr.s_addr) >> 24 == 127;
}

std::string host_text(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

std::string to_text(const sockaddr_in& address) {
  return fmt::format("{}:{}", host_text(address), ntohs(address.sin_port));
}

bool Root::is_loopback() const noexcept {
  return std::ranges::all_of(addresses, [](const auto& one) { return comm::is_loopback(one); });
}

std::string Root::describe() const {
  if (addresses.size() == 1 && to_text(addresses.front()) == text) return text;
  return fmt::format("{} ({})", text, join(addresses));
}

Root resolve_root(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) {
    throw_usage("WEFT_ROOT={}: not of the form HOST:PORT", text);
  }
  const std::string host = text.substr(0, colon);
  const auto port = env::parse_integer("WEFT_ROOT's port", text.substr(colon + 1), 1, 65535);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    throw_usage("WEFT_ROOT={}: {}", text, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  Root root{text, {}};
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    sockaddr_in address{};
    std::memcpy(&address, one->ai_addr, sizeof address);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    root.addresses.push_back(address);
  }
  if (!root.is_loopback()) {
    std::erase_if(root.addresses, [](const auto& one) { return comm::is_loopback(one); });
  }
  const auto number = [](const sockaddr_in& one) { return ntohl(one.sin_addr.s_addr); };
  std::ranges::sort(root.addresses, {}, number);
  const auto rest = std::ranges::unique(root.addresses, {}, number);
  root.addresses.erase(rest.begin(), rest.end());
  return root;
}

File reserve_root(std::string& root) {
  File file = reusable_socket(0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(file.get(), generic(address), sizeof address) != 0) {
    throw_errno("bind(a port of 127.0.0.1)");
  }
  root = to_text(own_address(file));
  return file;
}

File listen_at(sockaddr_in address, const std::string& what) {
  File file = reusable_socket(SOCK_NONBLOCK);
  if (::bind(file.get(), generic(address), sizeof address) != 0 ||
      ::listen(file.get(), SOMAXCONN) != 0) {
    throw_errno(fmt::format("listen({})", what));
  }
  return file;
}

std::vector<File> listen_at_root(const Root& root) {
  std::vector<File> sockets;
  for (const sockaddr_in& address : root.addresses) {
    try {
      sockets.push_back(listen_at(address, root.describe()));
    } catch (const SystemError& error) {
      if (error.error() != EADDRNOTAVAIL) throw;
    }
  }
  if (sockets.empty()) {
    throw_usage(
        "WEFT_ROOT={}: {} is no address of this host, where rank 0 runs; its addresses are {}",
        root.text, join(root.addresses), addresses_of_host());
  }
  return sockets;
}

File connect_until(const sockaddr_in& address, Clock::time_point deadline) {
  File file = new_socket(SOCK_NONBLOCK);
  if (::connect(file.get(), generic(address), sizeof address) == 0) return file;
  if (errno != EINPROGRESS && errno != EINTR) return {};
  pollfd entry{file.get(), POLLOUT, 0};
  int ready = 0;
  while (ready == 0 && Clock::now() < deadline) {
    ready = ::poll(&entry, 1, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (ready > 0) ::getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return file;
  file.reset();
  errno = error;
  return file;
}

sockaddr_in own_address(const File& socket) {
  sockaddr_in own{};
  socklen_t length = sizeof own;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    throw_errno("getsockname");
  }
  return own;
}

std::string addresses_of_host() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return "unknown";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  std::string list;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    if (!is_loopback(address)) append_to_list(list, host_text(address));
  }
  return list.empty() ? "none" : list;
}

int milliseconds_until(Clock::time_point deadline, int most_ms) noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most_ms));
}

}  // namespace weft::comm
