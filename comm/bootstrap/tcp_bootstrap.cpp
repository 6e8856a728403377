// Bootstrap over TCP: a star around rank 0 for allgathers, and a connection between two ranks from
// their first exchange on.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>

#include "base/cast.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "comm/bootstrap/meeting.hpp"
#include "comm/bootstrap/secret.hpp"
#include "comm/bootstrap/tcp_address.hpp"
#include "comm/bootstrap/tcp_socket.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace {

using comm::Clock;
using comm::Guest;
using comm::Meeting;
using comm::Root;
using comm::TcpSocket;

std::int64_t required(const char* name, std::int64_t low, std::int64_t high) {
  const auto value = env::integer(name, low, high);
  if (!value) throw_usage("{} is not set: it says a number from {} to {}", name, low, high);
  return *value;
}

/// Of the job. UsageError where there is none and others than this host's processes could come.
comm::Secret secret_for(const Root& root) {
  comm::Secret secret = comm::Secret::from_settings();
  if (secret.is_there() || secret.is_declined() || root.is_loopback()) return secret;
  throw_usage(
      "WEFT_ROOT={} is open to a network, and WEFT_SECRET_FILE is not set: it names a file of mode "
      "600 with the same random bytes on all ranks; or none, where everybody is trusted",
      root.describe());
}

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap()
      : size_(checked_cast<int>(required("WEFT_SIZE", 1, 1 << 20))),
        rank_(checked_cast<int>(required("WEFT_RANK", 0, size_ - 1))),
        patience_(env::integer("WEFT_CONNECT_TIMEOUT", 1, 86400).value_or(30)),
        star_(size_),
        pairs_(size_),
        where_(size_) {
    if (size_ == 1) return;
    const std::string text = env::text("WEFT_ROOT").value_or("");
    if (text.empty()) throw_usage("WEFT_ROOT is not set: it says HOST:PORT of rank 0");
    root_ = comm::resolve_root(text);
    meeting_.emplace(comm::Party{secret_for(root_), static_cast<std::uint32_t>(rank_),
                                 static_cast<std::uint32_t>(size_), 0});
    rank_ == 0 ? gather_ranks() : join();
  }

  /// A rank whose part of a collective is over may leave while others are still in it.
  ~TcpBootstrap() override {
    if (!given_up_.empty()) return;
    const std::string message = comm::encode(comm::Farewell());
    for (const TcpSocket& socket : star_) {
      if (socket) comm::send_at_once(socket.get(), message);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    return tell_failure([&] { return allgather_by_star(mine); });
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return tell_failure([&] {
      pair_with(peers);
      for (std::size_t i = 0; i < peers.size(); ++i) pairs_[peers[i]].send_texts({&mine[i], 1});
      std::vector<std::string> theirs;
      for (const int peer : peers) {
        theirs.push_back(std::move(receive_texts(pairs_[peer], 1).front()));
      }
      return theirs;
    });
  }

  /// By the star to rank 0, which tells all others as soon as it waits for something here.
  void give_up(std::string_view why) override {
    if (!given_up_.empty()) return;
    given_up_ = why;
    const std::string message = comm::encode(comm::Failure{false, given_up_});
    for (auto* const sockets : {&star_, &pairs_}) {
      for (const TcpSocket& socket : *sockets) {
        if (socket) comm::send_at_once(socket.get(), message);
      }
    }
  }

  void check() override {
    tell_failure([&] { look_for_failures(); });
    for (int rank = 0; rank < size_; ++rank) {
      if (star_[rank] && star_[rank].has_ended()) {
        throw PeerError(fmt::format("rank {} has ended in the middle of a collective", rank));
      }
    }
  }

 private:
  /// A rank that cannot go on, as another one is lost, tells the others.
  template <class Body>
  std::invoke_result_t<Body> tell_failure(Body body) {
    if (!given_up_.empty()) throw PeerError(given_up_);
    try {
      return body();
    } catch (const PeerError& error) {
      give_up(error.what());
      throw;
    }
  }

  std::vector<std::string> allgather_by_star(std::string_view mine) {
    std::vector<std::string> all(size_);
    all[0] = mine;
    if (rank_ != 0) {
      star_[0].send_texts({all.data(), 1});
      return receive_texts(star_[0], all.size());
    }
    for (int rank = 1; rank < size_; ++rank) {
      all[rank] = std::move(receive_texts(star_[rank], 1).front());
    }
    const std::string message = comm::encode(all);
    for (int rank = 1; rank < size_; ++rank) star_[rank].send(message);
    return all;
  }

  /// Whoever it waits for may wait for a rank that has given up.
  std::vector<std::string> receive_texts(TcpSocket& socket, std::size_t count) {
    while (!socket.has_something(kBetweenLooks)) look_for_failures();
    return socket.receive_texts(count);
  }

  void look_for_failures() {
    for (TcpSocket& socket : star_) {
      if (socket) socket.require_no_failure();
    }
  }

  Clock::time_point deadline() const { return Clock::now() + patience_; }

  void gather_ranks() {
    meeting_->listen(comm::listen_at_root(root_));
    const auto until = deadline();
    int missing = size_ - 1;
    while (missing > 0) {
      std::vector<Guest> guests = meeting_->wait(until);
      if (guests.empty()) fail_all(false, describe_missing(missing));
      missing -= static_cast<int>(guests.size());
      std::erase_if(guests, [this](Guest& guest) { return take_rank(guest); });
      if (!guests.empty()) fail_for(guests);
    }
    const std::string table = comm::encode(where_);
    for (int rank = 1; rank < size_; ++rank) star_[rank].send(table);
  }

  /// False for one that the job does not expect.
  bool take_rank(Guest& guest) {
    const auto [rank, size] = std::pair(guest.hello.rank, guest.hello.size);
    const auto ranks = static_cast<std::uint32_t>(size_);
    if (size != ranks || rank == 0 || rank >= ranks || star_[rank]) return false;
    where_[rank] = {ntohl(guest.from.sin_addr.s_addr), guest.hello.port};
    star_[rank] = std::move(guest.socket);
    return true;
  }

  /// They know the secret: what is wrong with them is wrong with the job.
  [[noreturn]] void fail_for(std::span<Guest> wrong) {
    const comm::Hello& first = wrong.front().hello;
    const std::string why =
        fmt::format("WEFT_RANK={} WEFT_SIZE={}: a rank came that rank 0 of {} does not expect",
                    first.rank, first.size, size_);
    for (Guest& guest : wrong) tell(guest.socket, {true, why});
    fail_all(true, why);
  }

  static void tell(TcpSocket& socket, const comm::Failure& failure) {
    try {
      socket.send(comm::encode(failure));
    } catch (const PeerError&) {
      // It has ended.
    }
  }

  /// All ranks that have come end with the same error.
  [[noreturn]] void fail_all(bool is_usage_error, const std::string& why) {
    for (TcpSocket& socket : star_) {
      if (socket) tell(socket, {is_usage_error, why});
    }
    if (is_usage_error) throw UsageError(why);
    throw PeerError(why);
  }

  std::string describe_missing(int missing) const {
    std::string why = fmt::format(
        "rank 0: {} other ranks did not appear at WEFT_ROOT={} within "
        "WEFT_CONNECT_TIMEOUT={}",
        missing, root_.describe(), patience_.count());
    const std::string strangers = meeting_->describe_strangers();
    if (!strangers.empty()) why += "; " + strangers;
    if (root_.is_loopback()) {
      why += fmt::format("; ranks on other hosts cannot come there (this host's addresses: {})",
                         comm::addresses_of_host());
    }
    return why;
  }

  void join() {
    meeting_->ask(0, root_.addresses, fmt::format("rank 0 at WEFT_ROOT={}", root_.describe()));
    const auto until = deadline();
    while (!star_[0]) {
      std::vector<Guest> guests = meeting_->wait(until);
      if (guests.empty()) {
        throw PeerError(fmt::format(
            "rank {}: rank 0 did not appear at WEFT_ROOT={} within WEFT_CONNECT_TIMEOUT={}", rank_,
            root_.describe(), patience_.count()));
      }
      for (Guest& guest : guests) take_guest(guest);
    }
    where_ = star_[0].receive_table(where_.size());
  }

  /// The connection with rank 0 that was asked for first is the star's, all others are pairs'.
  void take_guest(Guest& guest) {
    const std::uint32_t rank = guest.was_asked ? guest.hello.to : guest.hello.rank;
    if (rank >= static_cast<std::uint32_t>(size_)) return;
    TcpSocket& place = rank == 0 && rank_ != 0 && !star_[0] ? star_[0] : pairs_[rank];
    if (!place) place = std::move(guest.socket);
  }

  /// The lower rank of a pair listens, the higher one connects.
  void pair_with(std::span<const int> peers) {
    const auto is_there = [this](int peer) { return static_cast<bool>(pairs_[peer]); };
    const auto until = deadline();
    for (const int peer : peers) {
      if (peer < rank_ && !is_there(peer)) ask(peer, until);
    }
    while (true) {
      const auto missing = std::ranges::find_if_not(peers, is_there);
      if (missing == peers.end()) return;
      // A lower rank that is elsewhere answers when it comes.
      const auto comes =
          std::ranges::find_if(peers, [&](int peer) { return peer > rank_ && !is_there(peer); });
      const auto next_look = Clock::now() + kBetweenLooks;
      std::vector<Guest> guests =
          meeting_->wait(comes == peers.end() ? next_look : std::min(until, next_look));
      if (guests.empty()) look_for_failures();
      if (guests.empty() && comes != peers.end() && Clock::now() >= until) {
        throw PeerError(
            fmt::format("rank {}: rank {} did not appear within WEFT_CONNECT_TIMEOUT={}", rank_,
                        *comes, patience_.count()));
      }
      for (Guest& guest : guests) take_guest(guest);
    }
  }

  void ask(int peer, Clock::time_point until) {
    std::vector<sockaddr_in> addresses = root_.addresses;
    std::string where = root_.describe();
    if (peer != 0) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(where_[peer].address);
      address.sin_port = htons(where_[peer].port);
      addresses = {address};
      where = comm::to_text(address);
    }
    meeting_->ask(static_cast<std::uint32_t>(peer), std::move(addresses),
                  fmt::format("rank {} at {}", peer, where), until);
  }

  /// After so long without what it waits for a rank looks whether others have given up.
  static constexpr std::chrono::seconds kBetweenLooks{1};

  int size_;
  int rank_;
  std::string given_up_;  // why this rank takes no further part; empty: it does
  std::chrono::seconds patience_;
  Root root_;
  std::optional<Meeting> meeting_;
  std::vector<TcpSocket> star_;   // rank 0: to each other; others: [0] only
  std::vector<TcpSocket> pairs_;  // for exchange()
  std::vector<comm::Whereabouts> where_;
};

}  // namespace

std::unique_ptr<Bootstrap> tcp_bootstrap() {
  return std::make_unique<TcpBootstrap>();
}

}  // namespace weft
