// Agent: a thread that serves the requests of other processes. It passes descriptors and, where no
// faster path is allowed, copies bytes for them. It takes no lock of the datapath, so requesters
// may wait for it while they hold such locks.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "base/file.hpp"
#include "verbs/soft/process/agent_protocol.hpp"
#include "verbs/soft/process/peer.hpp"

namespace weft::soft {

class Process;

/// Runs `body` in a detached thread that takes no signals.
void start_thread(const char* name, void (*body)(void*), void* argument);

class Agent {
 public:
  /// Serves on `listener`, which the Process owns.
  Agent(Process& process, int listener);

  /// Calls Process::peer_hung_up() when the peer closes its end of the connection.
  void watch(const Peer& peer) noexcept;

  // Around fork: the child must not keep the parent's connections open after the parent's death.
  void lock_connections() { connections_mutex_.lock(); }
  void unlock_connections() { connections_mutex_.unlock(); }
  void close_connections() noexcept;

 private:
  void serve() noexcept;
  void accept_one() noexcept;
  bool answer(int connection) noexcept;
  bool answer_descriptor(int connection, const Request& request) noexcept;
  void forget(int connection) noexcept;

  Process& process_;
  int listener_;
  File epoll_;
  std::mutex connections_mutex_;
  std::set<int> connections_;
};

}  // namespace weft::soft
