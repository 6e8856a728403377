// TCP socket: a connection between two ranks, and whole messages on it.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "comm/bootstrap/messages.hpp"

namespace weft::comm {

/// A message that arrives in pieces. Takes memory for what has come, whatever length was announced.
class ArrivingMessage {
 public:
  enum class State { partial, whole, ended, foreign };

  /// Reads on, and no byte behind the message. `partial`: more is to come, or would block.
  /// `foreign`: not a message of one of these kinds.
  State read(int socket, std::initializer_list<MessageKind> expected);
  MessageKind kind() const noexcept { return head_.kind; }
  Bytes body() const noexcept { return std::as_bytes(std::span(body_)); }

 private:
  State fill(int socket, std::string& bytes, std::size_t wanted);

  std::string head_bytes_;
  std::string body_;
  MessageHead head_;
  bool has_head_ = false;
};

/// A connection with a rank that has proven that it is one. PeerError, which names the rank, when
/// it has ended; what a failure() of the other end says is thrown, too.
class TcpSocket {
 public:
  TcpSocket() = default;
  /// Makes the socket blocking.
  TcpSocket(File socket, int peer);
  int get() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }

  /// A message as encode() makes it.
  void send(std::string_view message);
  void send_texts(std::span<const std::string> texts) { send(encode(texts)); }
  std::vector<std::string> receive_texts(std::size_t count);
  std::vector<Whereabouts> receive_table(std::size_t ranks);
  /// Whether something has come, or the other end has closed it; waits so long for that.
  bool has_something(std::chrono::milliseconds patience) const;
  /// Throws what a failure() of the other end says, where that is next, and takes a farewell. Does
  /// not wait for either.
  void require_no_failure();
  /// Whether the other end has closed it without a farewell. Does not wait.
  bool has_ended() const;

 private:
  ArrivingMessage receive(MessageKind kind);
  [[noreturn]] void throw_failure(const ArrivingMessage& message) const;
  [[noreturn]] void lost() const;
  [[noreturn]] void refuse() const;

  File file_;
  int peer_ = -1;
  bool has_left_ = false;  // the peer, with a farewell
};

/// Sends what fits, without waiting. False when not all of it did.
bool send_at_once(int socket, std::string_view message) noexcept;

}  // namespace weft::comm
