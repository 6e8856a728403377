#include "comm/bootstrap/meeting.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"

namespace weft::comm {

namespace {

using State = Handshake::State;

constexpr std::chrono::milliseconds kPause{10};  // before a rank is asked again
constexpr std::chrono::seconds kMostConnecting{1};
constexpr int kMostAccepted = 64;  // at a time, before those that have come are served

}  // namespace

void Meeting::listen(std::vector<File> sockets) {
  self_.port = ntohs(own_address(sockets.front()).sin_port);
  listeners_ = std::move(sockets);
}

void Meeting::ask(std::uint32_t rank, std::vector<sockaddr_in> addresses, std::string what,
                  std::optional<Clock::time_point> listens_until) {
  asked_.push_back({rank, std::move(addresses), std::move(what), listens_until, 0, {}, {}});
}

void Meeting::connect(Asked& asked, Clock::time_point deadline) {
  const sockaddr_in& address = asked.addresses[asked.next];
  asked.next = (asked.next + 1) % asked.addresses.size();
  File socket = connect_until(address, std::min(deadline, Clock::now() + kMostConnecting));
  if (!socket) {
    const bool is_gone = errno == ECONNREFUSED && asked.addresses.size() == 1;
    if (asked.listens_until && (is_gone || Clock::now() >= *asked.listens_until)) {
      throw PeerError(fmt::format("{}: {}", asked.what, SystemError("connect", errno).what()));
    }
    asked.next_try = Clock::now() + kPause;
    return;
  }
  if (listeners_.empty()) {
    sockaddr_in own = own_address(socket);
    own.sin_port = 0;
    std::vector<File> sockets;
    sockets.push_back(listen_at(own, host_text(own)));
    listen(std::move(sockets));
  }
  asked.handshake.emplace(std::move(socket), asked.rank);
}

std::vector<Guest> Meeting::wait(Clock::time_point deadline) {
  std::vector<Guest> guests;
  bool is_late = false;
  while (guests.empty() && !is_late) {
    is_late = Clock::now() >= deadline;
    for (Asked& asked : asked_) {
      if (!asked.handshake && Clock::now() >= asked.next_try) connect(asked, deadline);
    }
    poll_all(deadline);
    for (const File& listener : listeners_) accept_all(listener);
    advance_comers(guests);
    advance_asked(guests);
  }
  return guests;
}

/// Until there is something to do.
void Meeting::poll_all(Clock::time_point deadline) {
  std::vector<pollfd> entries;
  const auto add = [&entries](int socket) { entries.push_back({socket, POLLIN, 0}); };
  for (const File& listener : listeners_) add(listener.get());
  for (const Handshake& comer : comers_) add(comer.socket());
  if (!comers_.empty()) deadline = std::min(deadline, comers_.front().begun() + kPatience);
  for (const Asked& asked : asked_) {
    asked.handshake ? add(asked.handshake->socket())
                    : void(deadline = std::min(deadline, asked.next_try));
  }
  if (::poll(entries.data(), entries.size(), milliseconds_until(deadline)) < 0 && errno != EINTR) {
    throw_errno("poll(bootstrap)");
  }
}

void Meeting::accept_all(const File& listener) {
  for (int i = 0; i < kMostAccepted; ++i) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    File socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE) && !comers_.empty()) {
      comers_.pop_front();  // strangers may hold what ranks need
      continue;
    }
    if (!socket && (errno == EMFILE || errno == ENFILE)) throw_errno("accept(bootstrap)");
    if (!socket) return;  // nobody left, or one that has gone again
    comers_.emplace_back(std::move(socket), from, self_);
    if (comers_.size() > kMostStrangers) comers_.pop_front();
  }
}

void Meeting::advance_comers(std::vector<Guest>& guests) {
  const auto now = Clock::now();
  std::erase_if(comers_, [&](Handshake& comer) {
    const State state = comer.advance(self_);
    if (state == State::going) return now - comer.begun() >= kPatience;
    if (state == State::unknown) {
      ++strangers_;
      last_stranger_ = fmt::format("{} as rank {}", to_text(comer.from()), comer.hello().rank);
      log::warn("bootstrap: {} does not know the secret", last_stranger_);
    }
    if (state == State::proven) {
      const auto rank = static_cast<int>(comer.hello().rank);
      guests.push_back({TcpSocket(comer.take_socket(), rank), comer.hello(), comer.from(), false});
    }
    return true;
  });
}

void Meeting::advance_asked(std::vector<Guest>& guests) {
  std::erase_if(asked_, [&](Asked& asked) {
    if (!asked.handshake) return false;
    const State state = asked.handshake->advance(self_);
    if (state == State::going) return false;
    if (state == State::ended) {
      // It had no room for more, or has not come so far.
      asked.handshake.reset();
      asked.next_try = Clock::now() + kPause;
      return false;
    }
    if (state != State::proven) refuse(asked, state);
    guests.push_back({TcpSocket(asked.handshake->take_socket(), static_cast<int>(asked.rank)),
                      asked.handshake->hello(), asked.handshake->from(), true});
    return true;
  });
}

void Meeting::refuse(const Asked& asked, State state) const {
  const Handshake& handshake = *asked.handshake;
  if (state == State::foreign) {
    throw PeerError(fmt::format("{}: {} listens there, but not a rank of this version of weft",
                                asked.what, to_text(handshake.from())));
  }
  if (handshake.refusal() == Refusal::user) {
    throw_usage("{}: another user's process; without a secret only processes of one user meet",
                asked.what);
  }
  if (handshake.challenge().has_secret != 0 && !self_.secret.is_there()) {
    throw_usage("{}: it asks for the secret of the job, and here {}", asked.what,
                self_.secret.describe());
  }
  throw_usage("{}: it has {} than this rank, where {}: all ranks of a job need the same",
              asked.what,
              handshake.challenge().has_secret != 0 ? "another secret" : "no secret, other",
              self_.secret.describe());
}

std::string Meeting::describe_strangers() const {
  if (strangers_ == 0) return "";
  return fmt::format("{} connections without the secret of the job were refused, the last from {}",
                     strangers_, last_stranger_);
}

}  // namespace weft::comm
