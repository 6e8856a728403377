// What answers for a rank that is in no call, so that who waits for it knows that it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/file.hpp"
#include "verbs/control/control_path.hpp"

namespace weft::verbs {

/// A thread that sleeps until the peer of a broken connection asks by datagram whether this process
/// is there, and says yes. It has a queue pair and a completion queue of its own and knows nothing
/// of how connections stand: mending them is left to the rank, in its next call. That the process
/// lives and has not given the connection up is all that its answer says.
class Presence {
 public:
  /// On a port of `context`; `port.queue` is not used. SystemError names the call that failed.
  Presence(const Library& library, ibv_context* context, ControlPath::Port port);
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence();

  /// Of the queue pair that is to be asked.
  std::uint32_t number() const noexcept { return path_->number(); }

  /// The other end of a connection, and where its control path is.
  struct Peer {
    std::uint32_t pair = 0;
    std::uint32_t control = 0;
    ibv_ah_attr route{};
  };
  /// From now on the peer of this end's queue pair `pair` is answered. The first call starts the
  /// thread; SystemError when that cannot be.
  void answer_for(std::uint32_t pair, const Peer& peer);
  /// From now on it is not.
  void forget(std::uint32_t pair) noexcept;

 private:
  struct Known {
    Peer peer;
    ibv_ah* way = nullptr;  // made when first needed
  };
  /// Gives back what has been made so far, also when the constructor throws half-way.
  struct Handles {
    const Library* library = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* queue = nullptr;
    ~Handles();
  };
  void serve() noexcept;
  void answer_all() noexcept;
  void answer(const Notice& question) noexcept;

  Handles handles_;
  std::unique_ptr<ControlPath> path_;  // the thread's, once there is one
  File stop_;                          // an eventfd
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Known> known_;  // by queue pair of this end; under the mutex
  std::thread thread_;
};

}  // namespace weft::verbs
