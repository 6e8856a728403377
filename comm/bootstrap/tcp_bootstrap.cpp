// Bootstrap over TCP: a star around rank 0 for allgathers, and a connection between two ranks from
// their first exchange on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/cast.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/bootstrap/tcp_socket.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace {

using comm::connect_once;
using comm::listen_at;
using comm::TcpSocket;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x77656674;

struct Hello {
  std::uint32_t magic = kMagic;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint16_t port = 0;  // where this rank listens, network byte order
  std::uint16_t reserved = 0;
};

/// Address of a rank, which rank 0 tells all others.
struct Where {
  std::uint32_t address = 0;  // IPv4, network byte order
  std::uint16_t port = 0;
  std::uint16_t reserved = 0;
};

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap()
      : size_(checked_cast<int>(required("WEFT_SIZE", 1, 1 << 20))),
        rank_(checked_cast<int>(required("WEFT_RANK", 0, size_ - 1))),
        root_text_(env::text("WEFT_ROOT").value_or("")),
        deadline_(Clock::now() + std::chrono::seconds(
                                     env::integer("WEFT_CONNECT_TIMEOUT", 1, 86400).value_or(30))),
        star_(size_),
        pairs_(size_),
        where_(size_) {
    if (size_ == 1) return;
    if (root_text_.empty()) throw_usage("WEFT_ROOT is not set: it says HOST:PORT of rank 0");
    const sockaddr_in root = comm::resolve_root(root_text_);
    rank_ == 0 ? gather_ranks(root) : join(root);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    std::vector<std::string> all(size_);
    all[0] = mine;
    if (rank_ != 0) {
      star_[0].send(mine);
      for (std::string& one : all) one = star_[0].receive();
      return all;
    }
    for (int rank = 1; rank < size_; ++rank) all[rank] = star_[rank].receive();
    for (int rank = 1; rank < size_; ++rank) {
      for (const std::string& one : all) star_[rank].send(one);
    }
    return all;
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    for (std::size_t i = 0; i < peers.size(); ++i) pair_with(peers[i]).send(mine[i]);
    std::vector<std::string> theirs;
    for (const int peer : peers) theirs.push_back(pairs_[peer].receive());
    return theirs;
  }

  void check() override {
    for (int rank = 0; rank < size_; ++rank) {
      if (star_[rank] && star_[rank].has_ended()) {
        throw PeerError(fmt::format("rank {} has ended in the middle of a collective", rank));
      }
    }
  }

 private:
  static std::int64_t required(const char* name, std::int64_t low, std::int64_t high) {
    const auto value = env::integer(name, low, high);
    if (!value) throw_usage("{} is not set: it says a number from {} to {}", name, low, high);
    return *value;
  }

  Hello hello() const {
    Hello mine;
    mine.rank = rank_;
    mine.size = size_;
    sockaddr_in own{};
    socklen_t length = sizeof own;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &length);
    mine.port = own.sin_port;
    return mine;
  }

  /// Waits for a connection until the deadline. Returns it with its hello.
  std::pair<TcpSocket, Hello> accept_one(const char* expected, sockaddr_in& from) {
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      pollfd entry{listener_.get(), POLLIN, 0};
      const int ready = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) {
        throw PeerError(
            fmt::format("rank {}: {} did not appear within WEFT_CONNECT_TIMEOUT", rank_, expected));
      }
      socklen_t length = sizeof from;
      TcpSocket socket(
          ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC),
          -1);
      if (!socket) continue;
      // Another program may connect and say nothing: it must not stop this rank.
      const timeval patience{5, 0};
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      Hello theirs;
      try {
        socket.read_all(&theirs, sizeof theirs);
      } catch (const PeerError&) {
        continue;
      }
      if (theirs.magic != kMagic) continue;
      const timeval forever{0, 0};
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
      return {std::move(socket), theirs};
    }
  }

  void gather_ranks(const sockaddr_in& root) {
    listener_ = listen_at(root, root_text_);
    for (int come = 1; come < size_; ++come) {
      sockaddr_in from{};
      auto [socket, theirs] = accept_one(fmt::format("{} other ranks", size_ - come).c_str(), from);
      if (theirs.size != size_ || theirs.rank <= 0 || theirs.rank >= size_ || star_[theirs.rank]) {
        throw_usage("WEFT_RANK={} WEFT_SIZE={}: a rank came that rank 0 of {} does not expect",
                    theirs.rank, theirs.size, size_);
      }
      where_[theirs.rank] = {from.sin_addr.s_addr, theirs.port, 0};
      star_[theirs.rank] = TcpSocket(::dup(socket.get()), theirs.rank);
    }
    const std::string table(reinterpret_cast<const char*>(where_.data()),
                            where_.size() * sizeof(Where));
    for (int rank = 1; rank < size_; ++rank) star_[rank].send(table);
  }

  void join(const sockaddr_in& root) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    listener_ = listen_at(any, "any port");
    int descriptor = connect_once(root);
    while (descriptor < 0) {
      if (Clock::now() >= deadline_) {
        throw PeerError(fmt::format(
            "rank {}: rank 0 did not appear at WEFT_ROOT={} within WEFT_CONNECT_TIMEOUT", rank_,
            root_text_));
      }
      ::poll(nullptr, 0, 10);  // rank 0 may not listen yet
      descriptor = connect_once(root);
    }
    star_[0] = TcpSocket(descriptor, 0);
    const Hello mine = hello();
    star_[0].write_all(&mine, sizeof mine);
    const std::string table = star_[0].receive();
    if (table.size() != where_.size() * sizeof(Where))
      throw PeerError("rank 0: not a table of ranks");
    std::memcpy(where_.data(), table.data(), table.size());
    where_[0] = {root.sin_addr.s_addr, root.sin_port, 0};
  }

  /// The lower rank of a pair listens, the higher one connects.
  TcpSocket& pair_with(int peer) {
    if (peer < rank_ && !pairs_[peer]) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = where_[peer].address;
      address.sin_port = where_[peer].port;
      pairs_[peer] = TcpSocket(connect_once(address), peer);
      if (!pairs_[peer]) throw_errno(fmt::format("connect(rank {})", peer));
      const Hello mine = hello();
      pairs_[peer].write_all(&mine, sizeof mine);
    }
    while (!pairs_[peer]) {
      deadline_ = Clock::now() + std::chrono::seconds(30);
      sockaddr_in from{};
      auto [socket, theirs] = accept_one(fmt::format("rank {}", peer).c_str(), from);
      if (theirs.rank < 0 || theirs.rank >= size_) continue;
      pairs_[theirs.rank] = TcpSocket(::dup(socket.get()), theirs.rank);
    }
    return pairs_[peer];
  }

  int size_;
  int rank_;
  std::string root_text_;
  Clock::time_point deadline_;
  File listener_;
  std::vector<TcpSocket> star_;   // rank 0: to each other; others: [0] only
  std::vector<TcpSocket> pairs_;  // for exchange()
  std::vector<Where> where_;
};

}  // namespace

std::unique_ptr<Bootstrap> tcp_bootstrap() {
  return std::make_unique<TcpBootstrap>();
}

}  // namespace weft
