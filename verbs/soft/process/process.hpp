// Process: this process as a user of the device, with its slot, its control segment, the agent that
// answers other processes, and the peers to which it is attached.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/file.hpp"
#include "verbs/soft/process/agent.hpp"
#include "verbs/soft/process/peer.hpp"
#include "verbs/soft/process/shared_file.hpp"
#include "verbs/soft/segment/control_segment.hpp"
#include "verbs/soft/segment/index_pool.hpp"

namespace weft::soft {

class Process {
 public:
  /// Takes a slot. SystemError when none is free or a resource is refused.
  Process();
  /// From here on other processes can attach to this one.
  void start_agent();
  void give_back_slot() noexcept { listener_.reset(); }

  std::uint32_t slot() const noexcept { return slot_; }
  const ControlSegment& segment() const noexcept { return self_->segment(); }
  ControlSegmentFile& file() noexcept { return file_; }
  const std::shared_ptr<Peer>& self() const noexcept { return self_; }

  /// The process that holds `slot`, attached now if need be; nullptr when none does.
  std::shared_ptr<Peer> peer(std::uint32_t slot) noexcept;
  /// The same for a new connection: checks first that the process is still alive.
  std::shared_ptr<Peer> living_peer(std::uint32_t slot) noexcept;
  /// The agent saw the connection to `slot` end.
  void peer_hung_up(std::uint32_t slot) noexcept;

  IndexPool qp_indices, cq_indices, srq_indices, mr_indices;
  std::atomic<std::uint32_t> next_pd{1};
  std::atomic<std::uint64_t> registered_bytes{0};  // by all regions that there are

  /// Counts wake_progress() and the doorbells that peers ring.
  std::uint32_t doorbell() const noexcept { return segment().header().doorbell.load(); }
  /// Sleeps until the doorbell is no longer at `heard`, or for `interval` (nullptr: no limit). Only
  /// the progress thread calls it.
  void await_doorbell(std::uint32_t heard, const timespec* interval) noexcept;
  /// Wakes the progress thread, for example because a send was queued.
  void wake_progress() noexcept;

  // Around fork. In the child, the parent's slot and connections are closed, so that they end with
  // the parent.
  void before_fork() { agent_->lock_connections(); }
  void after_fork_in_parent() { agent_->unlock_connections(); }
  void after_fork_in_child() noexcept;

  // Files behind registered regions and the completion channels, which peers ask the agent for.
  void publish_region(std::uint32_t index, std::uint32_t epoch, SharedFile file);
  void withdraw_region(std::uint32_t index) noexcept;
  std::uint32_t publish_channel(int descriptor);
  void withdraw_channel(std::uint32_t id) noexcept;
  /// Calls `use` with the file of a region or the descriptor of a channel (nullptr or -1 when there
  /// is none), which stays open meanwhile.
  void with_region(std::uint32_t index, std::uint32_t epoch,
                   const std::function<void(const SharedFile*)>& use);
  void with_channel(std::uint32_t id, const std::function<void(int)>& use);

 private:
  struct PublishedRegion {
    std::uint32_t epoch;
    SharedFile file;
  };

  std::shared_ptr<Peer> known_peer(std::uint32_t slot) noexcept;

  ControlSegmentFile file_;
  std::uint32_t slot_ = 0;
  File listener_;
  std::shared_ptr<Peer> self_;
  std::unique_ptr<Agent> agent_;

  std::mutex attach_mutex_;  // held while another agent answers; never taken by our agent
  std::mutex peers_mutex_;
  std::map<std::uint32_t, std::shared_ptr<Peer>> peers_;

  std::atomic<bool> progress_sleeps_{false};

  std::mutex published_mutex_;
  std::map<std::uint32_t, PublishedRegion> regions_;
  std::map<std::uint32_t, int> channels_;
  std::uint32_t next_channel_ = 1;
};

}  // namespace weft::soft
