// Meeting: the handshakes of a rank that are under way, all at a time: those of whoever connects
// to it, and those with the ranks that it wants to reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "comm/bootstrap/handshake.hpp"
#include "comm/bootstrap/tcp_address.hpp"

namespace weft::comm {

/// A rank that knows the secret, and the connection with it.
struct Guest {
  TcpSocket socket;
  Hello hello;
  sockaddr_in from{};
  bool was_asked = false;  // this end has connected
};

/// Whoever connects and says nothing, or nothing right, delays nobody: it is dropped after
/// kPatience, or when kMostStrangers have come after it.
class Meeting {
 public:
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::size_t kMostStrangers = 256;

  /// Not listening yet.
  explicit Meeting(Party self) : self_(std::move(self)) {}

  /// Sockets that do not block.
  void listen(std::vector<File> sockets);
  /// Connects to that rank until it has answered, at its addresses in turn; `what` names it in
  /// errors. Where this end does not listen yet, it does from the first connection on, at the
  /// address from which that goes out. `listens_until`: the rank listens already, unless it has
  /// ended, and must be reached by then; else wait() throws PeerError.
  void ask(std::uint32_t rank, std::vector<sockaddr_in> addresses, std::string what,
           std::optional<Clock::time_point> listens_until = std::nullopt);

  /// Waits until somebody has proven to know the secret, or until `deadline`: then nobody is
  /// returned. UsageError when a rank that was asked has another secret, PeerError when it is not
  /// of this job for another reason.
  std::vector<Guest> wait(Clock::time_point deadline);

  /// Who came and did not know the secret; "" when nobody did.
  std::string describe_strangers() const;

 private:
  struct Asked {
    std::uint32_t rank;
    std::vector<sockaddr_in> addresses;
    std::string what;
    std::optional<Clock::time_point> listens_until;
    std::size_t next = 0;  // address
    Clock::time_point next_try{};
    std::optional<Handshake> handshake;
  };

  void connect(Asked& asked, Clock::time_point deadline);
  void poll_all(Clock::time_point deadline);
  void accept_all(const File& listener);
  void advance_comers(std::vector<Guest>& guests);
  void advance_asked(std::vector<Guest>& guests);
  [[noreturn]] void refuse(const Asked& asked, Handshake::State state) const;

  Party self_;
  std::vector<File> listeners_;
  std::list<Handshake> comers_;  // in the order in which they came
  std::list<Asked> asked_;
  std::size_t strangers_ = 0;
  std::string last_stranger_;
};

}  // namespace weft::comm
