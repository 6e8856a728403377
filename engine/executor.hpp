// Runs programs: one rank's part of a collective, over shared memory and channels.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/operation.hpp"
#include "engine/links.hpp"
#include "engine/node.hpp"
#include "engine/program.hpp"
#include "engine/stages.hpp"

namespace weft::engine {

/// A program with the channels that it uses, ready to run again and again.
struct Prepared {
  Program program;
  std::vector<int> ranks;                 // by index of the program's peers
  std::vector<verbs::Channel*> channels;  // likewise
  bool registers_input = false;           // some message goes straight from or to it
  bool registers_output = false;
  std::uint64_t messages = 0;  // over the device, in one execution
  std::uint64_t wire_bytes = 0;
};

/// What else a rank does while it waits. Either may be empty.
struct WhileWaiting {
  std::function<void()> progress;  // after a millisecond, and often: moves on what others wait for
  std::function<void()> check;     // every second or so: throws when a rank is known to be gone
};

/// Everything that a rank's executions share. Single threaded. The parts that it is given outlive
/// it.
class Executor {
 public:
  /// `node` may be null where this rank is alone on its node. `crowded`: ranks outnumber the cores
  /// of this host, so waiting must not burn them. `timeout_ns` bounds the wait for one
  /// execution's progress; 0: no bound.
  Executor(int rank, Node* node, bool crowded, Links& links, WhileWaiting meanwhile,
           std::int64_t timeout_ns);

  /// The stages that programs may use; from the next execution on.
  void set_stages(Stages* stages) { stages_ = stages; }

  /// Makes a program ready: channels to all of its peers must exist. Grows what executions need.
  Prepared prepare(Program program);

  /// Runs it on the caller's buffers; `operation` is what its reductions do, if it has any. All
  /// ranks of the communicator run their programs of the same collective in the same order. False
  /// when it could not be finished: failure() says why, the peers have been told, and nothing can
  /// be run any more.
  bool run(Prepared& prepared, const std::byte* input, std::byte* output,
           const Operation* operation = nullptr) noexcept;
  const std::string& failure() const { return failure_; }
  /// This rank cannot go on, for a reason of its own: the peers are told.
  void give_up(std::string why) noexcept { fail(std::move(why)); }

  std::uint64_t executions() const { return execution_; }

 private:
  bool begin(const Prepared& prepared, const std::byte* input, std::byte* output) noexcept;
  bool register_buffers(const Prepared& prepared, const std::byte* input,
                        std::byte* output) noexcept;
  void start(std::uint32_t id) noexcept;
  void finish(std::uint32_t id) noexcept;
  void release(std::uint32_t id) noexcept;
  bool progress() noexcept;
  bool progress_waits() noexcept;
  bool progress_channels() noexcept;
  bool copy(const Step& step) noexcept;
  bool reduce(const Step& step) noexcept;
  void find_peer_buffer(const Operand& operand) noexcept;
  bool is_peer_buffer(const Operand& operand) const noexcept;
  int owner_of(const Operand& operand) const noexcept;
  void transfer(const Step& step, std::uint32_t id) noexcept;
  verbs::Layout layout(const Operand& operand, bool remote_key) const noexcept;

  /// One turn of waiting; false when there is nothing more to wait for.
  bool idle() noexcept;
  bool look_around() noexcept;
  bool look_after_peers(std::int64_t now) noexcept;
  bool time_out(std::int64_t now) noexcept;
  bool outside(const std::function<void()>& call) noexcept;
  bool guard_stages() noexcept;
  std::string where() const;
  void fail(std::string text) noexcept;
  void tell_peers() noexcept;

  int rank_;
  Node* node_;
  bool crowded_;
  Links& links_;
  Stages* stages_ = nullptr;
  WhileWaiting meanwhile_;
  std::int64_t timeout_ns_;

  // Memory that plans call scratch, grown by prepare().
  Segment scratch_;
  std::vector<std::byte> operand_;  // of a reduction: a piece of what a peer has
  verbs::Registration scratch_registration_;

  // Of the execution under way. Sized by prepare(): run() allocates nothing.
  const Prepared* prepared_ = nullptr;
  const Operation* operation_ = nullptr;
  std::vector<std::byte*> bases_;
  std::vector<std::uint32_t> lkeys_;
  std::vector<std::uint32_t> rkeys_;
  std::vector<std::uint32_t> pending_;
  std::vector<std::uint32_t> ready_;    // every step enters once
  std::vector<std::uint32_t> waiting_;  // waits whose signal has not come
  std::vector<std::uint32_t> moving_;   // sends and recvs under way
  std::vector<verbs::Transfer> transfers_;
  std::vector<std::uint32_t> active_;    // peers with transfers under way
  std::vector<std::uint32_t> activity_;  // by peer: how many
  std::size_t ready_begin_ = 0;
  std::size_t ready_end_ = 0;
  std::size_t waiting_count_ = 0;
  std::size_t moving_count_ = 0;
  std::size_t active_count_ = 0;
  std::size_t remote_active_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t idle_turns_ = 0;
  std::int64_t idle_since_ns_ = 0;
  std::int64_t next_progress_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t next_probe_ns_ = 0;

  std::vector<std::uint64_t> waited_;  // by place: signals taken by earlier executions
  std::uint64_t execution_ = 0;
  bool heard_all_ = true;  // by the last execution
  std::string failure_;
};

}  // namespace weft::engine
