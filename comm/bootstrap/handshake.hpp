// Handshake: two ends of a new connection prove to each other that they know the job's secret.
//
//   who listens                     who has connected
//   challenge (nonce)        ->
//                            <-     hello (nonce, proof, rank, where it listens)
//   welcome (proof)          ->
//
// A proof is an HMAC over both nonces, so what was overheard proves nothing on another connection.
// Neither end waits: each step is taken when its message has come.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/file.hpp"
#include "comm/bootstrap/secret.hpp"
#include "comm/bootstrap/tcp_socket.hpp"

namespace weft::comm {

/// This end of a job's handshakes.
struct Party {
  Secret secret;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint16_t port = 0;  // where it listens
};

class Handshake {
 public:
  enum class State {
    going,
    proven,   ///< Both ends know the secret.
    refused,  ///< The other end says that it does not know this end's secret: see refusal().
    unknown,  ///< The other end does not know the secret, or is another user's.
    foreign,  ///< It does not speak weft's bootstrap, or another version of it.
    ended,    ///< It has closed the connection.
  };

  /// Of who listens: `from` has connected. Sends the challenge.
  Handshake(File socket, const sockaddr_in& from, const Party& self);
  /// Of who has connected, to that rank.
  Handshake(File socket, std::uint32_t to);

  /// Takes the steps whose messages have come. To be called once the socket is readable.
  State advance(const Party& self);

  int socket() const noexcept { return socket_.get(); }
  /// Once proven. Its blocking connection; the handshake is over.
  File take_socket() noexcept { return std::move(socket_); }
  /// The other end's at the end that listens, this end's at the other one.
  const Hello& hello() const noexcept { return hello_; }
  const sockaddr_in& from() const noexcept { return from_; }
  const Challenge& challenge() const noexcept { return challenge_; }
  /// Nothing: the other end's proof was wrong.
  std::optional<Refusal> refusal() const noexcept { return refusal_; }
  std::chrono::steady_clock::time_point begun() const noexcept { return begun_; }

 private:
  State take_hello(const Party& self);
  State take_challenge(const Party& self);
  State take_answer(const Party& self);
  bool is_other_user(const Party& self) const;

  File socket_;
  sockaddr_in from_{};
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool listens_;
  bool answered_ = false;  // this end, which does not listen, has sent its hello
  Challenge challenge_;
  Hello hello_;
  std::optional<Refusal> refusal_;
  ArrivingMessage message_;
};

}  // namespace weft::comm
