// Network: what the communicators of one rank share of the device that joins nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/node/slab_registrations.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/flow.hpp"
#include "verbs/registration/registration_cache.hpp"

namespace weft::engine {

/// Something that uses connections of a network, and may need to be moved on while its owner is
/// elsewhere.
class CaredFor {
 public:
  /// Mends what is broken, as far as that goes now. In any thread; it must not use the network's
  /// add() and remove().
  virtual void take_care() noexcept = 0;

 protected:
  ~CaredFor() = default;
};

/// A device, opened when first needed, the registrations of memory with it, and a connection to
/// each peer process. Outlives the links over it. Thread safe.
///
/// While a rank is outside of weft it polls no device: it does not see that a connection has
/// broken, and does not send again what was lost. So a peer that waits asks the device's liveness
/// responder (verbs/control), whose thread then does both in the rank's place, until nothing is
/// broken.
class Network {
 public:
  Network() = default;
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Opens the device unless it is open; only the first call's arguments count. Throws what that
  /// throws.
  verbs::Endpoint& open(const verbs::PortSettings& port, int turn,
                        const verbs::RegistrationLimits& limits);
  /// Null until open().
  verbs::Endpoint* endpoint() const noexcept { return opened_.load(std::memory_order_acquire); }
  /// There when the endpoint is.
  verbs::RegistrationCache& registrations() const noexcept { return *registrations_; }
  SlabRegistrations& slabs() const noexcept { return *slabs_; }

  /// The connection to a process, made when first asked for; after open(). `process`: any number
  /// that tells the peers of this rank apart.
  verbs::FlowGroup& connection(int process);
  /// Queue pairs of its connections, on all rails, and how many connections were made anew.
  struct Counts {
    std::uint64_t pairs = 0;
    std::uint64_t reconnections = 0;
  };
  Counts counts();
  /// All ranks are about to end their networks: see Connection::prepare_to_end().
  void prepare_to_end() noexcept;
  /// To be cared for, until remove().
  void add(CaredFor& member);
  void remove(CaredFor& member) noexcept;

 private:
  bool take_care() noexcept;

  std::mutex mutex_;
  std::unique_ptr<verbs::Endpoint> endpoint_;
  std::unique_ptr<verbs::RegistrationCache> registrations_;
  std::unique_ptr<SlabRegistrations> slabs_;
  std::atomic<verbs::Endpoint*> opened_{nullptr};
  std::map<int, std::unique_ptr<verbs::FlowGroup>> connections_;  // by process
  bool is_ending_ = false;
  std::mutex care_mutex_;
  std::vector<CaredFor*> members_;  // under it
};

/// The networks of a rank of a job: one, or several where communicators are used by several threads
/// at once, so that few of these meet in a lock.
class Networks {
 public:
  explicit Networks(bool for_several_threads);

  /// That of a communicator: the same on all of its ranks.
  std::shared_ptr<Network> of(std::uint64_t context) const {
    return networks_[context % networks_.size()];
  }
  Network::Counts counts() const;
  void prepare_to_end() noexcept {
    for (const auto& network : networks_) network->prepare_to_end();
  }

 private:
  std::vector<std::shared_ptr<Network>> networks_;
};

/// A communicator's share of the networks of its rank.
struct NetworkShare {
  std::shared_ptr<Network> network;
  std::vector<int> process_of_rank;  // the numbers of its ranks' processes in that network
};

}  // namespace weft::engine
