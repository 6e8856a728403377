// This process as it takes part: its slot, its control segment, its threads, its objects.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/file.hpp"
#include "verbs/soft/faults/inject.hpp"
#include "verbs/soft/process/agent.hpp"
#include "verbs/soft/process/index_pool.hpp"
#include "verbs/soft/process/peer.hpp"
#include "verbs/soft/process/segment.hpp"
#include "verbs/soft/process/shared_file.hpp"

namespace weft::soft {

struct Context;
struct Qp;
struct Cq;
struct Srq;

/// One a process, made when the first device is opened and kept to its end (its threads run until
/// then). A forked child starts without one; what it inherited belongs to its parent.
class Process {
 public:
  /// SystemError when no slot is free or a resource is refused.
  static Process& instance();

  std::uint32_t slot() const noexcept { return slot_; }
  const Segment& segment() const noexcept { return self_->segment(); }
  SegmentFile& file() noexcept { return file_; }
  const std::shared_ptr<Peer>& self() const noexcept { return self_; }

  /// Whoever holds `slot`, attached now if need be; nullptr when nobody does.
  std::shared_ptr<Peer> peer(std::uint32_t slot) noexcept;
  /// The same for a new connection: makes sure that it is not somebody who died a moment ago.
  std::shared_ptr<Peer> living_peer(std::uint32_t slot) noexcept;
  /// The agent saw the connection to `slot` end.
  void peer_hung_up(std::uint32_t slot) noexcept;

  IndexPool qp_indices, cq_indices, srq_indices, mr_indices;
  std::atomic<std::uint32_t> next_pd{1};
  std::atomic<std::uint64_t> registered_bytes{0};  // by all regions that there are
  std::atomic<std::uint64_t> qps_made{0};
  Faults faults;

  void add(Context& context);
  void remove(Context& context);
  void add(Qp& qp);
  void remove(Qp& qp);
  void add(Cq& cq);
  void remove(Cq& cq);
  void add(Srq& srq);
  void remove(Srq& srq);

  /// Retires all QPs, CQs and SRQs of a context that is closed with objects left.
  void abandon(Context& context) noexcept;

  /// Returns when nobody is inside an operation that began before the call: passes through every
  /// lock under which regions of this process are used.
  void quiesce() noexcept;

  /// Serves what peers asked of this process's objects and retries queued sends; any thread may.
  void attend() noexcept;
  /// Queued sends of QPs whose completions go to `cq`.
  void retry_sends(const Cq& cq) noexcept;
  /// The port of `device` goes down for `duration_ns` (0: until told otherwise), or comes up. Its
  /// contexts hear of it.
  void port_down(unsigned device, std::int64_t duration_ns) noexcept;
  void port_up(unsigned device) noexcept;
  /// Wakes the progress thread, for example because a send was queued.
  void wake_progress() noexcept;

  // Files behind registered regions and the completion channels, which peers ask the agent for.
  void publish_region(std::uint32_t index, std::uint32_t epoch, SharedFile file);
  void withdraw_region(std::uint32_t index) noexcept;
  std::uint32_t publish_channel(int descriptor);
  void withdraw_channel(std::uint32_t id) noexcept;
  /// The descriptor to send for a region or a channel, or -1. `use` runs while it stays open.
  void with_region(std::uint32_t index, std::uint32_t epoch,
                   const std::function<void(const SharedFile*)>& use);
  void with_channel(std::uint32_t id, const std::function<void(int)>& use);

 private:
  struct PublishedRegion {
    std::uint32_t epoch;
    SharedFile file;
  };

  Process();
  void start();
  void progress_loop() noexcept;
  bool attend_queues() noexcept;
  bool attend_ports() noexcept;
  void announce(unsigned device, ibv_event_type type) noexcept;
  std::shared_ptr<Peer> known_peer(std::uint32_t slot) noexcept;
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;

  SegmentFile file_;
  std::uint32_t slot_ = 0;
  File listener_;
  std::shared_ptr<Peer> self_;
  std::unique_ptr<Agent> agent_;

  std::mutex attach_mutex_;  // held while another agent answers; never taken by our agent
  std::mutex peers_mutex_;
  std::map<std::uint32_t, std::shared_ptr<Peer>> peers_;

  std::shared_mutex objects_mutex_;
  std::vector<Qp*> qps_;
  std::vector<Cq*> cqs_;
  std::vector<Srq*> srqs_;
  std::mutex contexts_mutex_;
  std::vector<Context*> contexts_;
  std::atomic<bool> progress_sleeps_{false};

  std::mutex published_mutex_;
  std::map<std::uint32_t, PublishedRegion> regions_;
  std::map<std::uint32_t, int> channels_;
  std::uint32_t next_channel_ = 1;
};

}  // namespace weft::soft
