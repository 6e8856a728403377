// Liveness responder: answers peers' "are you alive?" while this rank is outside weft.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/file.hpp"
#include "verbs/control/control_path.hpp"

namespace weft::verbs {

/// A thread that sleeps until the peer of a broken connection asks by datagram whether this process
/// is there, and answers. It has a queue pair and a completion queue of its own and does not know
/// the state of connections: the rank recovers them in its next call, or a caretaker, which the
/// thread calls, while the rank is elsewhere. The answer says only that the process lives and has
/// not given the connection up.
class LivenessResponder {
 public:
  /// On a port of `context`; `port.queue` is not used. SystemError names the call that failed.
  LivenessResponder(const Library& library, ibv_context* context, ControlPath::Port port);
  LivenessResponder(const LivenessResponder&) = delete;
  LivenessResponder& operator=(const LivenessResponder&) = delete;
  ~LivenessResponder();

  /// Where it takes the questions.
  ControlAddress address() const noexcept { return path_->address(); }

  /// The other end of a connection: its queue pair, its control path, and the route to it.
  struct Peer {
    std::uint32_t pair = 0;
    ControlAddress control;
    ibv_ah_attr route{};
  };
  /// Answers the peer of this end's queue pair `pair` from now on. The first call starts the
  /// thread; SystemError when that fails.
  void add(std::uint32_t pair, const Peer& peer);
  /// Called in the thread after a question or wake(), and then every few milliseconds as long as it
  /// returns true: something is still broken.
  using Caretaker = std::function<bool()>;
  /// Empty: none any more. Waits for a call that is under way.
  void set_caretaker(Caretaker caretaker);
  /// Answers the questions of kWhere, in the thread: writes the answer over the question; false:
  /// there is none. It has to be safe from any thread.
  using Teller = std::function<bool(std::array<char, Notice::kReasonBytes>&)>;
  /// Before the first add().
  void set_teller(Teller teller) { teller_ = std::move(teller); }
  /// Something has broken.
  void wake() noexcept;

  /// Ends that.
  void remove(std::uint32_t pair) noexcept;

 private:
  struct Entry {
    Peer peer;
    ibv_ah* address = nullptr;  // created when first needed
  };
  /// Frees what has been created, also when the constructor throws half-way.
  struct Handles {
    const Library* library = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* queue = nullptr;
    ~Handles();
  };
  void serve() noexcept;
  bool answer_all() noexcept;
  bool is_to_come_back() noexcept;
  bool answer(const Notice& question) noexcept;

  Handles handles_;
  std::unique_ptr<ControlPath> path_;  // used by the thread only, once that runs
  File bell_;                          // an eventfd
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> entries_;  // by queue pair of this end; under the mutex
  std::mutex caretaker_mutex_;
  Caretaker caretaker_;  // under it
  Teller teller_;
  std::thread thread_;
};

}  // namespace weft::verbs
