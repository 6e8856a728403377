// TCP socket: a connection between two ranks, and whole messages on it.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace weft::comm {

/// A connection with a rank. PeerError, which names the rank, when it has ended.
class TcpSocket {
 public:
  TcpSocket() = default;
  /// Owns `descriptor`; -1 is none.
  explicit TcpSocket(int descriptor, int peer);
  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }

  void write_all(const void* data, std::size_t bytes);
  void read_all(void* data, std::size_t bytes);
  /// A text, with its length before it.
  void send(std::string_view text);
  std::string receive();
  /// Whether the other end has closed it. Does not wait.
  bool has_ended() const;

 private:
  [[noreturn]] void lost() const;
  File file_;
  int peer_ = -1;
};

/// The IPv4 address of HOST:PORT; UsageError names WEFT_ROOT.
sockaddr_in resolve_root(const std::string& root);
/// A port of the loopback for ranks that this process starts; sets `root` to the WEFT_ROOT that
/// they need. While the file is open rank 0 may listen there, and no other program is given the
/// port.
File reserve_root(std::string& root);
/// `what` names the address in errors. SystemError.
File listen_at(sockaddr_in address, const std::string& what);
/// A descriptor; -1 when nothing listens there.
int connect_once(const sockaddr_in& address);

}  // namespace weft::comm
