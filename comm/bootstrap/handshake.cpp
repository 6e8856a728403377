#include "comm/bootstrap/handshake.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "base/random.hpp"
#include "comm/bootstrap/peer_user.hpp"
#include "comm/bootstrap/tcp_address.hpp"

namespace weft::comm {

Handshake::Handshake(File socket, const sockaddr_in& from, const Party& self)
    : socket_(std::move(socket)), from_(from), listens_(true) {
  fill_random(challenge_.nonce);
  challenge_.has_secret = self.secret.is_there() ? 1 : 0;
  send_at_once(socket_.get(), encode(challenge_));  // else the other end has gone
}

Handshake::Handshake(File socket, std::uint32_t to) : socket_(std::move(socket)), listens_(false) {
  hello_.to = to;
  socklen_t size = sizeof from_;
  ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&from_), &size);
}

Handshake::State Handshake::advance(const Party& self) {
  while (true) {
    ArrivingMessage::State arrived;
    if (listens_) {
      arrived = message_.read(socket_.get(), {MessageKind::hello});
    } else if (!answered_) {
      arrived = message_.read(socket_.get(), {MessageKind::challenge});
    } else {
      arrived = message_.read(socket_.get(), {MessageKind::welcome, MessageKind::refusal});
    }
    if (arrived == ArrivingMessage::State::partial) return State::going;
    if (arrived == ArrivingMessage::State::ended) return State::ended;
    if (arrived == ArrivingMessage::State::foreign) return State::foreign;
    const State state = listens_     ? take_hello(self)
                        : !answered_ ? take_challenge(self)
                                     : take_answer(self);
    message_ = {};
    if (state != State::going) return state;
  }
}

Handshake::State Handshake::take_hello(const Party& self) {
  const auto hello = decode_hello(message_.body());
  if (!hello) return State::foreign;
  hello_ = *hello;
  const bool knows = self.secret.accepts(hello_to_prove(challenge_, hello_), hello_.proof);
  if (!knows || is_other_user(self)) {
    send_at_once(socket_.get(), encode(knows ? Refusal::user : Refusal::secret));
    return State::unknown;
  }
  if (hello_.to != self.rank) return State::foreign;
  const Welcome welcome{self.secret.prove(welcome_to_prove(challenge_, hello_))};
  return send_at_once(socket_.get(), encode(welcome)) ? State::proven : State::ended;
}

Handshake::State Handshake::take_challenge(const Party& self) {
  const auto challenge = decode_challenge(message_.body());
  if (!challenge) return State::foreign;
  challenge_ = *challenge;
  if (is_other_user(self)) {
    refusal_ = Refusal::user;
    return State::unknown;
  }
  fill_random(hello_.nonce);
  hello_.rank = self.rank;
  hello_.size = self.size;
  hello_.port = self.port;
  hello_.proof = self.secret.prove(hello_to_prove(challenge_, hello_));
  answered_ = true;
  return send_at_once(socket_.get(), encode(hello_)) ? State::going : State::ended;
}

Handshake::State Handshake::take_answer(const Party& self) {
  if (message_.kind() == MessageKind::refusal) {
    refusal_ = decode_refusal(message_.body());
    return refusal_ ? State::refused : State::foreign;
  }
  const auto welcome = decode_welcome(message_.body());
  if (!welcome) return State::foreign;
  const bool knows = self.secret.accepts(welcome_to_prove(challenge_, hello_), welcome->proof);
  return knows ? State::proven : State::unknown;
}

/// Without a secret the loopback is left to one user.
bool Handshake::is_other_user(const Party& self) const {
  if (self.secret.is_there() || !is_loopback(from_)) return false;
  const auto user = user_of_peer(socket_.get());
  return user && *user != ::geteuid();
}

}  // namespace weft::comm
