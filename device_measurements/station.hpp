// Station: a rank of a probe with its connections to the other node, memory and neighbours.
#pragma once

#include <sched.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/bootstrap/agreement.hpp"
#include "device_measurements/core_watch.hpp"
#include "engine/node/node_control.hpp"
#include "hierarchy/machine.hpp"
#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/store.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::device_measurements {

/// A connection to a rank of the other node.
struct Connection {
  verbs::RcWire wire;
  verbs::Channel channel;
  std::uint64_t inbox = 0;  // address of Station::in() of its rank
  verbs::RemoteKeys keys{};
  std::uint64_t shared = 0;  // address of shared memory of its rank, of the same size
  verbs::RemoteKeys shared_keys{};

  Connection(verbs::Endpoint& endpoint, std::uint64_t eager_bytes)
      : wire(endpoint), channel(wire, eager_bytes) {}
};

/// On both of two nodes the same number of ranks takes part, numbered by their places; surplus
/// ranks are idle. Single threaded.
class Station {
 public:
  /// Connects all ranks. Collective: UsageError or PeerError, the same on all, where the ranks are
  /// not on two nodes or the device cannot be used. A single node is split into two.
  explicit Station(Bootstrap& bootstrap);
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  Bootstrap& bootstrap() { return bootstrap_; }
  int pairs() const { return pairs_; }
  /// 0 where rank 0 is.
  int node() const { return node_number_; }
  int node_of(int rank) const { return machine_.node_of(rank); }
  /// Among the ranks of its node; pairs() or more: it is idle.
  int place() const { return place_; }
  bool is_at(int node, int place) const { return node_number_ == node && place_ == place; }
  /// Whether one kernel runs both nodes.
  bool on_one_machine() const { return one_machine_; }
  /// The number of ranks that this kernel runs, and of cores that they may use.
  int ranks_here() const { return ranks_here_; }
  int cores() const { return cores_; }
  bool crowded() const { return ranks_here_ > cores_; }

  verbs::Endpoint& endpoint() { return *endpoint_; }
  nic_profiles::DeviceName device() const;
  std::uint64_t eager_bytes() const { return eager_bytes_; }
  /// To the rank at a place of the other node. There is one for equal places, and wherever one of
  /// the places is 0.
  Connection& to(int place) { return *connections_[place]; }

  // Registered memory, nic_profiles::kLargest_bytes each.
  std::byte* out() { return memory_.data(); }
  std::byte* in() { return memory_.data() + nic_profiles::kLargest_bytes; }
  std::byte* target() { return memory_.data() + 2 * nic_profiles::kLargest_bytes; }
  std::uint32_t key() const { return registration_.lkey(); }
  /// Memory larger than the caches, for uncached operands and for evicting others; allocated by the
  /// first call.
  std::span<std::byte> cold_memory();
  /// The part of it that was used longest ago.
  std::byte* coldest(std::uint64_t bytes);
  std::uint64_t cold_bytes() const { return cold_bytes_; }

  /// Sets how many ranks of each node are busy now. That decides whether waits spin.
  void set_active(const std::array<int, 2>& ranks);
  /// Waits do not spin: two busy ranks share one core.
  void share_core() { spin_turns_ = 0; }
  /// The cores that all ranks of this kernel may run on, the same set on all of them; empty where a
  /// launcher has bound each rank to cores of its own.
  const cpu_set_t& common_cores() const { return common_; }
  /// Index among these of the core that this rank uses alone while it is busy; -1: none, or it is
  /// idle.
  int own_core() const { return own_core_; }
  CoreWatch& core_watch() { return core_watch_; }

  /// Calls `ready()`, which makes progress, until it returns true. Throws when a rank has ended or
  /// failed, or nothing happens for WEFT_TIMEOUT (30 s where that is not set).
  template <class Ready>
  void wait_until(Ready ready) {
    for (int turn = 1; !ready(); ++turn) {
      if (turn % kTurnsPerCheck == 0 || turn > spin_turns_) idle(turn);
    }
    waiting_since_ns_ = 0;
  }
  /// Throws when the connection has failed.
  static void progress(Connection& connection);
  void send(Connection& connection, std::uint64_t bytes) { move(connection, bytes, true); }
  void receive(Connection& connection, std::uint64_t bytes) { move(connection, bytes, false); }
  verbs::Layout layout(std::byte* memory, std::uint64_t bytes) const {
    return {memory, bytes, 1, bytes, key()};
  }

  /// Signals a neighbour, and waits for a neighbour's signal.
  void signal(int place) { node_->signal(place, 1, 0); }
  void await_signal(int place);
  /// Lets neighbours call read_neighbour() for in().
  void publish_memory() { node_->enter(1, {}, in(), in()); }
  /// Copies from a neighbour's published memory at an offset to target(), by a system call. False
  /// when the kernel does not allow it.
  bool read_neighbour(int place, std::uint64_t offset, std::uint64_t bytes);
  /// Barrier of the ranks of this node at places below `count`.
  void barrier(int count);

  /// Tells the ranks that wait for this one that it has failed.
  void abort(const std::string& why) noexcept;

 private:
  static constexpr int kTurnsPerCheck = 1024;

  void find_place();
  void count_cores();
  void open_device();
  void connect();
  void move(Connection& connection, std::uint64_t bytes, bool sends);
  void idle(int turn);
  void check_peers();

  Bootstrap& bootstrap_;
  hierarchy::Machine machine_{{0}};
  int node_number_ = 0;
  int place_ = 0;
  int pairs_ = 1;
  int ranks_here_ = 1;
  int cores_ = 1;
  bool one_machine_ = false;
  cpu_set_t common_{};
  int own_core_ = -1;
  CoreWatch core_watch_;
  std::int64_t timeout_ns_ = 30'000'000'000;  // WEFT_TIMEOUT, of each wait
  int spin_turns_ = 0;  // turns of a wait before it yields; 0: ranks outnumber cores
  std::uint64_t eager_bytes_ = 0;
  std::uint64_t cold_bytes_ = 0;
  verbs::PortSettings settings_;

  std::unique_ptr<engine::NodeControl> node_;  // null: alone on its node
  std::vector<std::uint64_t> awaited_;         // signals, by place
  std::unique_ptr<verbs::Endpoint> endpoint_;
  std::vector<std::byte> memory_;
  verbs::Registration registration_;
  engine::SharedMemory shared_;
  verbs::Registration shared_registration_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by place on the other node
  Mapping cold_memory_;
  std::uint64_t used_bytes_ = 0;  // of cold_memory_, from its beginning
  std::int64_t waiting_since_ns_ = 0;
  std::int64_t next_peer_check_ns_ = 0;
  std::int64_t next_bootstrap_check_ns_ = 0;
};

}  // namespace weft::device_measurements
