// Execution: one run of a program, with the state of its steps.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/board/board.hpp"
#include "engine/node/node_control.hpp"
#include "engine/node/stages.hpp"
#include "engine/program/program.hpp"
#include "engine/run/id_list.hpp"
#include "kernels/operation.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::engine {

class Executor;
struct Prepared;

/// The arguments of a call.
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  const Operation* operation = nullptr;  // of its reductions, if it has any
};

/// Sizes of what an execution needs: of each the most that any program has needed.
struct Capacity {
  std::size_t steps = 0;
  std::size_t transfers = 0;
  std::size_t peers = 0;
  std::size_t places = 0;
  std::size_t bases = 0;
  std::size_t fold_sources = 0;
  bool reduces_peers = false;  // sources may lie in buffers of neighbours

  void grow_for(const Program& program);
  bool operator==(const Capacity&) const = default;
};

/// Memory for sources of a reduction that this process cannot load from: fetched a piece at a time.
class Pieces {
 public:
  struct Fetched {
    std::size_t source = 0;  // number among the sources of the fold
    int place = 0;
    std::byte* there = nullptr;
  };

  /// For folds of up to so many sources. Pages that no reduction uses are never touched.
  void reserve_for(std::size_t sources);
  void reserve(std::size_t bytes);

  std::byte* memory() noexcept { return memory_.get(); }
  Fetched& at(std::size_t number) noexcept { return fetched_[number]; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
  std::vector<Fetched> fetched_;
};

/// Belongs to the executor, which makes all calls and reuses the object for later executions.
/// Single threaded.
///
/// Several may be under way. Their sends, recvs and signals to one peer start in the order of the
/// calls, as those of one program start in list order: both ends match them in that order. So the
/// first of a later execution waits until the last of an earlier one has started (a *crossing*).
class Execution {
 public:
  explicit Execution(Executor& executor) : executor_(executor) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Allocates memory, so that nothing else here does. has() compares the `version` of the
  /// capacity.
  void reserve(const Capacity& capacity, std::uint64_t version);
  bool has(std::uint64_t version) const noexcept { return version_ == version; }

  /// Assigns a program to this object: execution number `number` of this rank. `counts`, by place,
  /// are those of all earlier executions, and stay so until this one is done or has queued.
  /// `is_run`: the caller waits for its end. `stages` may be null where the program uses none. They
  /// are those of the time of the call, which all ranks make between the same others; it may enter
  /// on one rank before, and on another after larger ones are made. To be followed by queue(), or,
  /// once it has entered, run_through().
  void assign(const Prepared& prepared, const Buffers& buffers, std::uint64_t number, CallTag tag,
              bool is_run, std::span<const Counts> counts, const Stages* stages) noexcept;
  /// Prepares to start steps in any order that their dependencies allow.
  void queue() noexcept;
  /// Step `first` of a later execution, assigned and not entered, does not start before step `last`
  /// of this one has.
  void let_follow(std::uint32_t last, Execution& later, std::uint32_t first);
  /// Begins, once EntryRule allows it.
  void enter(std::size_t scratch_slot, std::byte* scratch, std::uint32_t scratch_key) noexcept;
  /// Makes steps that wait for nothing ready: once it has queued and entered.
  void release_initial() noexcept;
  /// Runs steps in list order as long as each can be done at once, checking up to `looks` times for
  /// signals, and queues the remaining steps. Most small collectives end here, without a queue.
  /// Nothing else is under way.
  void run_through(std::uint32_t looks) noexcept;
  /// Queues the steps from `first` on, where all before it are done, and none after it.
  void resume_at(std::uint32_t first) noexcept;
  /// Starts steps that are ready, until none is.
  void advance() noexcept;
  /// Finishes steps for which signals or messages have come. True when there were some.
  bool progress() noexcept;

  bool is_done() const noexcept { return left_ == 0; }
  bool has_entered() const noexcept { return entered_; }
  bool is_run() const noexcept { return is_run_; }
  std::uint64_t number() const noexcept { return number_; }
  CallTag tag() const noexcept { return tag_; }
  std::size_t scratch_slot() const noexcept { return scratch_slot_; }
  const Prepared& prepared() const noexcept { return *prepared_; }
  const Buffers& buffers() const noexcept { return buffers_; }
  void set_keys(std::uint32_t base, std::uint32_t lkey, std::uint32_t rkey) noexcept {
    bases_[base].lkey = lkey;
    bases_[base].rkey = rkey;
  }

  /// Number of ranks of other nodes with which transfers are under way.
  std::size_t remote_active() const noexcept { return remote_active_; }
  /// The place of a rank whose signal this execution waits for; -1 when it waits for messages too.
  int awaited_place() const noexcept;
  void probe_peers() noexcept;
  /// Tells the peers on other nodes whose messages it waits for which call it is in.
  void tell_call() noexcept;
  /// Looks for a peer that has done its part of this execution without what this rank waits for.
  void find_mismatch() noexcept;
  /// Writes down the steps under way.
  void post_waits(board::Poster& poster) const noexcept;
  /// ", op 3 waits for rank 2, ..": the steps under way, for messages about timeouts.
  std::string describe_waits() const;

 private:
  /// Memory that operands lie in, with the keys for messages from and to it.
  struct Base {
    std::byte* memory = nullptr;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
  };
  struct Crossing {
    std::uint32_t last;
    Execution* later;
    std::uint32_t first;
  };

  bool run_now(const Step& step, std::uint32_t& looks) noexcept;
  void start(std::uint32_t id) noexcept;
  void signal(const Step& step) noexcept;
  void finish(std::uint32_t id) noexcept;
  void release(std::uint32_t id) noexcept;
  bool has_come(const Step& step) noexcept;
  bool is_past(std::uint32_t peer) noexcept;
  bool is_of_this_call(std::uint32_t digest, const Step& step) noexcept;
  bool progress_waits() noexcept;

  // transfer_steps.cpp
  void transfer(const Step& step, std::uint32_t id) noexcept;
  bool progress_channels() noexcept;
  void fail(std::uint32_t peer) noexcept;
  void end_activity(std::uint32_t peer) noexcept;

  // copy_steps.cpp
  bool copy(const Step& step) noexcept {
    if (!step.small) return copy_any(step);
    std::byte* to = bases_[step.dst.base].memory + step.dst.offset;
    const std::byte* from = bases_[step.src.base].memory + step.src.offset;
    const std::uint64_t bytes = step.src.block_bytes;
    if (bytes == 8) {
      std::memcpy(to, from, 8);
    } else if (to != from) {
      std::memcpy(to, from, bytes);
    }
    return true;
  }
  bool copy_any(const Step& step) noexcept;
  bool move_by_kernel(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                      bool writes) noexcept;
  PeerMemory::Found reach(const Operand& operand) noexcept;
  verbs::Layout layout(const Operand& operand, bool remote_key) const noexcept;
  void find_peer_buffer(const Operand& operand) noexcept;
  bool is_peer_buffer(const Operand& operand) const noexcept;
  int owner_of(const Operand& operand) const noexcept;

  // reduce_steps.cpp
  bool reduce(const Step& step) noexcept;
  bool fold(const Step& step) noexcept;
  bool fetch(std::size_t count, std::uint64_t at, std::uint64_t bytes) noexcept;
  PeerMemory::Found reach_all(const Operand& source) noexcept;
  template <class Use>
  bool combine(bool maps, Use use) noexcept;

  Executor& executor_;
  std::uint64_t version_ = 0;
  const Prepared* prepared_ = nullptr;
  const Stages* stages_ = nullptr;
  Buffers buffers_;
  std::uint64_t number_ = 0;
  CallTag tag_;
  std::size_t scratch_slot_ = 0;
  bool is_run_ = true;
  bool past_caches_ = false;  // the buffers of the node's ranks do not fit into the caches
  bool entered_ = false;

  std::vector<Base> bases_;
  // Steps.
  std::vector<std::uint32_t> pending_;  // by step: how many it waits for; kNone once started
  IdList ready_;                        // in this order; every step enters once
  std::size_t started_ = 0;             // of those
  IdList waiting_;                      // waits whose signal has not come
  IdList moving_;                       // sends and recvs under way
  std::uint32_t left_ = 0;              // that are not done
  std::vector<verbs::Transfer> transfers_;
  // Peers.
  IdList active_;                        // those with transfers under way
  std::vector<std::uint32_t> activity_;  // by peer: how many
  std::size_t remote_active_ = 0;        // with ranks of other nodes
  const Counts* counts_ = nullptr;       // by place: of earlier executions
  std::vector<Counts> own_counts_;       // once it has queued
  std::vector<Crossing> crossings_;
  std::vector<const std::byte*> fold_sources_;
  Pieces pieces_;
};

}  // namespace weft::engine
