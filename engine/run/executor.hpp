// Executor: runs programs, each one rank's part of a collective, over shared memory and channels.
// Several may be under way; entry_rule.hpp says when each may begin.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/board/board.hpp"
#include "engine/node/node_control.hpp"
#include "engine/node/stages.hpp"
#include "engine/program/program.hpp"
#include "engine/program/sequence.hpp"
#include "engine/run/entry_rule.hpp"
#include "engine/run/executions.hpp"
#include "engine/run/links.hpp"
#include "engine/run/scratch.hpp"

namespace weft::engine {

/// When a caller's buffer is registered with the device for messages.
enum class Registering : std::uint8_t {
  nothing,  // never: no message goes straight from or to it
  whole,    // all of it, when the execution begins
  pieces,   // the part of each message when that starts, while earlier ones are under way
};

/// A program with the channels that it uses, ready to run again and again.
struct Prepared {
  Program program;
  std::vector<int> ranks;                       // by index of the program's peers
  std::vector<verbs::Channel*> channels;        // likewise
  std::array<Registering, 2> registering = {};  // of input and output
  bool registers = false;                       // one of them as a whole
  std::uint64_t messages = 0;                   // over the device, in one execution
  std::uint64_t wire_bytes = 0;
  CallName call = {};  // that it is a part of, for errors
  Sequence sequence = {};
};

/// What a plan's messages over the device need of this node's memory.
struct MemoryNeed {
  std::uint64_t scratch_bytes = 0;
  // Where messages that go straight into place begin or end: these are to be registered.
  bool uses_scratch = false;
  std::vector<int> stages;  // places

  void add(const MemoryNeed& other);
};

/// Functions of the caller that a rank calls while it waits. Each may be empty.
struct WhileWaiting {
  /// Where ranks share cores, before the rank gives its core away. True when it did anything.
  std::function<bool()> turn;
  std::function<void()> progress;  // after microseconds, and often: work that others wait for
  std::function<void()> check;     // every second or so: throws when a rank is known to be gone
  std::function<void()> give_way;  // on a fiber, in each turn (base/give_way.hpp)
  std::function<void()> answer;    // another process asks about ranks of other nodes
  std::function<void()> report;    // it has waited for WEFT_TIMEOUT: to say why; once on a node
};

/// Single threaded. The objects that it is given outlive it.
///
/// Any number of executions may be started. Two of them make progress at a time, as there are two
/// halves of stages and two pieces of scratch memory; the others wait for their turn, in order.
class Executor {
 public:
  /// `node` may be null where this rank is alone on its node. `crowded`: ranks outnumber the cores
  /// of this host, so that waiting ranks must give cores away. `timeout_ns` bounds the wait for
  /// progress; 0: no bound.
  Executor(int rank, NodeControl* node, bool crowded, Links& links, WhileWaiting meanwhile,
           std::int64_t timeout_ns);
  ~Executor();

  /// Sets the stages that programs use from the next execution on. Executions that are under way
  /// keep the former ones, which outlive them.
  void set_stages(Stages* stages) { stages_ = stages; }

  /// Size of all scratch memory.
  std::uint64_t scratch_bytes() const noexcept { return scratch_.bytes(); }
  /// `place_of_rank`: of the ranks that the plan names.
  MemoryNeed need_of(const plan::Plan& plan, std::span<const int> place_of_rank) const;
  /// Whether some of it is not there yet.
  bool lacks(const MemoryNeed& need) const noexcept;
  /// Makes scratch memory, and registers with the device what is needed and not yet registered.
  /// SystemError.
  void provide(const MemoryNeed& need);
  /// Registers the places of new stages that are registered in those which they are to replace.
  void register_like_former(Stages& stages) const;

  /// The ticks of the processor's counter at which this rank came to the call that is next.
  void arrive(std::uint64_t ticks) noexcept {
    last_call_.arrived_ticks = ticks;
    last_call_.arrived = stamp(ticks);
  }
  std::uint64_t arrived() const noexcept { return last_call_.arrived_ticks; }
  /// After a call of so many ticks: how many of them were over when the last of the node's ranks
  /// that had come by its end came to it.
  std::uint64_t waited(std::uint64_t ticks) const noexcept;
  /// Begins a call, of which all ranks give the same `key`. The executions that follow belong to
  /// it: those of one call on different ranks meet one another only.
  void begin_call(std::uint32_t key) noexcept { last_call_.tag.next(key); }
  CallTag tag() const noexcept { return last_call_.tag; }
  /// Where others see what this rank is in. Calls are written there as their executions begin.
  board::Poster& poster() noexcept { return poster_; }
  /// The call of this tag is over, at these ticks.
  void leave(CallTag call, std::uint64_t ticks) noexcept { poster_.end_call(call.word(), ticks); }

  /// Makes a program ready to run. Channels to all of its peers must exist, and the memory that it
  /// needs.
  Prepared prepare(Program program);
  /// After numbers of its program were written anew, which nobody was running. They need no more
  /// scratch memory than there is. `same_steps`: it has left out the same steps before.
  void renumbered(Prepared& prepared, bool same_steps = false) const noexcept;

  /// Runs it on the caller's buffers. All ranks of the communicator run their programs of the same
  /// collective in the same order. False when it could not be finished: failure() says why, the
  /// peers have been told, and nothing can be run any more.
  bool run(const Prepared& prepared, const Buffers& buffers) noexcept {
    const bool is_short = !prepared.sequence.empty() && is_idle() && !links_.is_troubled();
    return is_short && failure_.empty() ? run_short(prepared, buffers)
                                        : run_steps(prepared, buffers);
  }
  /// Runs another part of the last run's collective, of which ranks may have different numbers: two
  /// ranks run as many with messages for one another. Of a program of messages and copies alone.
  bool run_part(const Prepared& prepared, const Buffers& buffers) noexcept {
    entry_.repeat_last();  // as other ranks may have no such part
    return run(prepared, buffers);
  }
  /// Whether the last run has waited longer than others take in all.
  bool has_waited() const noexcept { return has_waited_; }

  /// Begins an execution; `prepared` and the buffers stay as they are until it is done. Either all
  /// ranks start it or all run it. Null when this executor has failed.
  Execution* start(const Prepared& prepared, const Buffers& buffers);
  /// Makes what progress is possible without waiting. True when there was some.
  bool progress() noexcept;
  /// progress() by another thread than the caller's, which uses nothing of this object meanwhile.
  /// Now and then it also checks the peers. It calls none of WhileWaiting. `caller_waits`: in a
  /// call of weft; otherwise executions whose operation is to be called `only_in_calls` start no
  /// step.
  enum class Help { moved, nothing_moved, nothing_under_way };
  Help help(bool caller_waits) noexcept;
  /// True when the execution is done; its object must not be used any more then. Makes no progress.
  bool take(const Execution& execution) noexcept { return executions_.take(execution); }
  /// Waits until it is done, and takes it. False as run().
  bool wait(Execution& execution) noexcept;
  /// True when nothing is under way.
  bool is_idle() const noexcept { return executions_.under_way().empty(); }

  /// Makes this executor fail for good, and tells the peers the reason, so that they fail too. Only
  /// the first reason counts.
  void poison(std::string text) noexcept;
  const std::string& failure() const { return failure_; }

 private:
  friend class Execution;

  /// A neighbour that calls at about the same time is there within so many looks.
  static constexpr std::uint32_t kLooks = 256;

  /// 32 bits, for the control block: a tenth of a microsecond each, or more where the counter is
  /// slow; they come round after minutes.
  static constexpr int kStampShift = 8;
  static std::uint32_t stamp(std::uint64_t ticks) noexcept {
    return static_cast<std::uint32_t>(ticks >> kStampShift);
  }

  bool run_steps(const Prepared& prepared, const Buffers& buffers) noexcept;
  Execution* run_through(const Prepared& prepared, const Buffers& buffers);
  Execution& begin(const Prepared& prepared, const Buffers& buffers, bool is_run);
  Execution& assign(const Prepared& prepared, const Buffers& buffers, bool is_run,
                    std::uint64_t number);
  void enqueue();
  /// The number of the first execution that is not done, where there is one.
  std::uint64_t oldest() const noexcept {
    return is_idle() ? entry_.last() : executions_.under_way().front()->number();
  }
  void count(const Program& program) noexcept;
  void order_behind_earlier(Execution& later);
  bool enter(Execution& execution) noexcept;
  bool is_left_to_caller(const Execution& execution) const noexcept;
  bool register_buffers(Execution& execution) noexcept;
  /// Keys for a message from or to a caller's buffer.
  verbs::RegistrationCache::Keys register_memory(const std::byte* memory,
                                                 std::uint64_t bytes) noexcept;
  void end_turn() noexcept;

  // short_runs.cpp
  bool run_short(const Prepared& prepared, const Buffers& buffers) noexcept;
  bool go_on(const Prepared& prepared, const Buffers& buffers, std::uint32_t step) noexcept;
  struct ShortRun;
  std::byte* address_of(const Action::Side& side, const ShortRun& run) const noexcept;
  void send_short(const Action& action, const ShortRun& run) noexcept;
  bool has_come_short(const Action& action, const ShortRun& run) const noexcept;
  void do_short(const Action& action, const ShortRun& run) noexcept;
  bool transfer_short(const Action& action, const ShortRun& run) const noexcept;

  // helper_copies.cpp
  /// ours = theirs, or the reverse, by helper copies of the rank at `place`.
  bool copy_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                     bool writes) noexcept;
  template <class Ready>
  bool serve_until(Ready ready) noexcept;

  // waiting.cpp
  /// One turn of waiting; false when there is nothing more to wait for.
  bool idle() noexcept;
  void let_others_run() noexcept;
  void sleep() noexcept;
  bool give_core_away() noexcept;
  bool has_waited_long() noexcept;
  bool do_timed_work() noexcept;
  bool check_peers(std::int64_t now) noexcept;
  bool check_calls() noexcept;
  bool check_call_of(int rank, CallTag call) noexcept;
  void disagree_with(int rank) noexcept;
  std::string call_seen_on(int rank, CallTag own) const;
  bool time_out(std::int64_t now) noexcept;
  void post_waits(std::int64_t now) noexcept;
  /// Writes down, as others see it, that this rank is in a call.
  void post_call(const CallName& call) noexcept {
    poster_.begin_call(
        last_call_.tag.word(), last_call_.arrived_ticks,
        board::pack(static_cast<std::uint8_t>(call.collective), call.algorithm, call.root),
        call.block_bytes);
  }
  bool call_caller(const std::function<void()>& call) noexcept;
  std::size_t remote_active() const noexcept;
  std::string describe_waits() const;
  void tell_peers() noexcept;

  int rank_;
  NodeControl* node_;
  bool crowded_;
  Links& links_;
  Stages* stages_ = nullptr;
  WhileWaiting meanwhile_;
  std::int64_t timeout_ns_;

  Scratch scratch_;
  Executions executions_;
  EntryRule entry_;
  std::vector<Counts> counts_;  // by place: of the executions so far
  struct {
    CallTag tag;
    std::uint64_t arrived_ticks = 0;
    std::uint32_t arrived = 0;  // the same: a stamp
  } last_call_;
  board::Poster poster_;
  bool has_waited_ = false;  // in the last run
  bool registered_ = false;  // buffers of what is under way
  // The wait at hand.
  struct {
    std::uint64_t turns = 0;
    std::int64_t since_ns = 0;  // 0: no time has been taken yet
    std::int64_t next_look_ns = 0;
    std::int64_t next_probe_ns = 0;
  } wait_;

  bool is_helped_ = false;   // it is another thread that calls
  bool is_away_ = false;     // the caller is in no call of weft
  bool is_in_step_ = false;  // of an execution, which has given way in the middle
  std::string failure_;
};

}  // namespace weft::engine
