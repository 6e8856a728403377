// TCP addresses: where rank 0 is, sockets that listen at an address, and connections to one.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace weft::comm {

using Clock = std::chrono::steady_clock;

/// Where rank 0 listens.
struct Root {
  std::string text;                    // WEFT_ROOT
  std::vector<sockaddr_in> addresses;  // of its host, as this host knows it; ascending
  /// All of them are loopback addresses: nobody on another host can come.
  bool is_loopback() const noexcept;
  /// "127.0.0.1:7000", or "node1:7000 (10.0.0.1)".
  std::string describe() const;
};

/// The IPv4 addresses of HOST:PORT. Those of the loopback (Debian has 127.0.1.1 for a host's own
/// name) count only where the host has no others. UsageError names WEFT_ROOT.
Root resolve_root(const std::string& text);

/// A port of the loopback for ranks that this process starts; sets `root` to the WEFT_ROOT that
/// they need. While the file is open rank 0 may listen there, and no other program is given the
/// port.
File reserve_root(std::string& root);

/// Sockets at those of the root's addresses that this host has. UsageError where it has none of
/// them; SystemError.
std::vector<File> listen_at_root(const Root& root);
/// A socket that does not block; `what` names the address in errors. SystemError.
File listen_at(sockaddr_in address, const std::string& what);

/// A connected socket that does not block; an empty file, and errno, when nobody answers until
/// `deadline`.
File connect_until(const sockaddr_in& address, Clock::time_point deadline);

/// "10.0.0.1:7000"
std::string to_text(const sockaddr_in& address);
/// "10.0.0.1"
std::string host_text(const sockaddr_in& address);
/// The address of this end of a connected or bound socket.
sockaddr_in own_address(const File& socket);
bool is_loopback(const sockaddr_in& address) noexcept;
/// The IPv4 addresses of this host but those of the loopback, joined by commas; "none".
std::string addresses_of_host();
/// For poll(): from now to `deadline`, at most `most_ms`.
int milliseconds_until(Clock::time_point deadline, int most_ms = 60000) noexcept;

}  // namespace weft::comm
