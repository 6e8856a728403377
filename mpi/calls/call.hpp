// Collective of the program: run by weft or passed to the host MPI, and its error code.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mpi/calls/arguments.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/recording/recording.hpp"
#include "mpi/world/busy.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/world.hpp"
#include "plan/problem.hpp"

namespace weft::mpi {

/// Surroundings of a call: the world and its communicator.
struct Context {
  const World& world;
  Attached& attached;

  const Layouts& layouts() const { return world.layouts(); }
  Communicator& weft() const { return *attached.weft; }
  int rank() const { return attached.rank; }
  int size() const { return attached.size; }
};

/// The arguments of one call. Lives as long as the call.
class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  plan::Collective collective() const { return collective_; }
  MPI_Comm comm() const { return comm_; }
  /// 0 where there is none.
  int root() const { return root_; }

  /// Looks at the arguments; nullopt: weft may serve the call. Whether it does follows from what
  /// all ranks share, or from invalid arguments, which the host refuses before it communicates.
  /// Arguments that the host would find wrong too late, when others wait, are no reason:
  /// is_contradictory() tells them.
  virtual std::optional<Passed> judge(const Context& context) = 0;
  /// The same; later it answers as it did then.
  std::optional<Passed> judge_once(const Context& context) {
    if (!judgement_) judgement_ = judge(context);
    return *judgement_;
  }
  /// Whether the host refuses the arguments in the call itself, before it communicates; false where
  /// that is not certain. Instead of judge(), as it changes the call likewise.
  bool is_refused(const Context& context) {
    if (!is_surely_refused(context)) return false;
    judgement_ = Passed::arguments;
    return true;
  }
  /// After judge(): the bytes of a block (of a vector) as all ranks know them; nothing where a rank
  /// knows its own only.
  virtual std::optional<std::uint64_t> block_bytes(const Context& context) const = 0;
  /// Elements of one datatype.
  struct Elements {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count count = 0;
  };
  /// After judge(): the rank that all others wait for; nothing where there is none.
  std::optional<int> sender() const {
    return is_sent_by_root(collective_) ? std::optional(root_) : std::nullopt;
  }
  /// After judge(), of calls in which ranks know their own blocks only: what this rank sends to a
  /// rank, and receives from it.
  struct Traffic {
    Elements sent, received;
  };
  virtual std::optional<Traffic> traffic_with(int /*rank*/, const Context& /*context*/) const {
    return std::nullopt;
  }
  /// After judge(): what this rank sends in all, for an alltoallv; nothing for others.
  virtual std::optional<std::uint64_t> sent_bytes() const { return std::nullopt; }
  /// After judge(), of calls without block_bytes(): the number of the function of MPI, below
  /// Races::kClasses, whose calls have a race of their own; nothing: they are not raced. Alike on
  /// all ranks.
  virtual std::optional<std::size_t> raced_function(const Context& /*context*/) const {
    return std::nullopt;
  }
  /// After judge(): whether the host's result has the same bits as weft's.
  virtual bool is_exact() const { return true; }
  /// A call that went straight from and to the program's buffers, as one call of weft, and would
  /// do so with others.
  struct Plain {
    const Operation* operation = nullptr;  // of a reduction; lives as long as the communicator
    std::size_t own_offset = 0;            // of an allgather in place: where this rank's block lies
  };
  /// After run().
  virtual std::optional<Plain> plain(const Context& /*context*/) const { return std::nullopt; }
  /// On a communicator of one rank, before judge(): does the call where that is a copy that the
  /// host would make through packed bytes; false: nothing was done.
  virtual bool copy_alone(const Context& /*context*/) { return false; }
  /// After judge(): what a recording says of it besides its bytes, and those where each rank has
  /// its own.
  virtual void describe(RecordedKind& /*kind*/, const Context& /*context*/) const {}
  /// Does it. What it throws becomes the error of the call.
  virtual void run(const Context& context) = 0;

  /// Goes on with copies of its arrays; before judge(). For calls that are not blocking.
  virtual void keep(Arrays& /*arrays*/, const Attached& /*attached*/) {}
  /// What must not be freed before the call is over.
  virtual void add_handles(Handles& /*handles*/, const Attached& /*attached*/) const {}

  /// This rank's arguments contradict each other, though the others may wait for it.
  bool is_contradictory() const { return own_sends_ != own_receives_; }
  std::string contradiction() const;
  /// MPI's, for errors and notes; of those that compare_sizes().
  const char* name() const { return name_; }

  /// Where the host's time in it is to be added once it is passed through; null: nowhere.
  PassedCount* passed_count() const { return passed_count_; }
  void time_in(PassedCount& count) { passed_count_ = &count; }
  /// Why the host is to serve the call, and perhaps the next ones like it, without a look at them.
  enum class Left : std::uint8_t { no, raced, put_off };
  void leave_to_host(Left why) { left_ = why; }
  /// By a race, perhaps as a trial.
  void leave_to_host(Trial trial) {
    left_ = Left::raced;
    trial_ = std::move(trial);
  }
  Left left() const { return left_; }
  Trial take_trial() { return std::move(trial_); }

 protected:
  /// Calls of more bytes in all are not plain: ranks may agree on pieces for them.
  static constexpr std::size_t kMostPlain = 64 << 10;

  Call(plan::Collective collective, MPI_Comm comm, int root = 0)
      : collective_(collective), comm_(comm), root_(root) {}
  ~Call() = default;

  /// To be overridden where Passed::arguments may mean that the host is to serve the call.
  virtual bool is_surely_refused(const Context& context) {
    return judge(context) == Passed::arguments;
  }

  /// See describe(), of a collective that has sent_bytes().
  void describe_irregular(RecordedKind& kind) const {
    kind.irregular = true;
    kind.bytes = sent_bytes().value_or(0);
  }

  /// Of what this rank sends to itself.
  void compare_sizes(const char* name, std::size_t sends, std::size_t receives) {
    name_ = name;
    own_sends_ = sends;
    own_receives_ = receives;
  }

 private:
  plan::Collective collective_;
  MPI_Comm comm_;
  int root_;
  PassedCount* passed_count_ = nullptr;
  Left left_ = Left::no;
  Trial trial_;
  std::optional<std::optional<Passed>> judgement_;
  const char* name_ = "";
  std::size_t own_sends_ = 0;  // bytes
  std::size_t own_receives_ = 0;
};

/// How a call went.
struct Outcome {
  std::optional<Passed> passed;  // why nothing was done, and the host must run it
  int code = MPI_SUCCESS;        // else: MPI's error code, if not in words
  std::string line;              // weft's error in words

  /// MPI's, of a call that weft has served.
  int error_code() const { return line.empty() ? code : error_code_of(line); }
};

/// The MPI error code of a call that weft has served; calls the error handler, unless this is a
/// component of the host, which does. Outside of weft: an error handler may do anything.
int end_call(MPI_Comm comm, const Outcome& outcome);

/// The race that a call is part of; null: weft serves it. After judge().
Race* race_of(const Call& call, const Context& context);

/// After judge().
CallSize size_of(const Call& call, const Context& context);

/// Judges the call, makes weft take over where that is due, and runs the call. Inside of weft.
Outcome attempt(Call& call, World& world);
/// The same with what belongs to the call alone.
Outcome attempt(Call& call, World& world, Attached& own);
/// Whether the host must run a call, as far as that is known without a look at its arguments.
std::optional<Passed> passes_at_once(const Call& call, const World& world,
                                     const Attached& attached);
/// The same of a call that is not blocking, with a look at its arguments; nothing where ranks may
/// have to wait for one another. Counts what the take-over rule counts. Inside of weft.
std::optional<Passed> passes_unwaited(Call& call, World& world, Attached& attached);
/// To be called of a call that has passed so: counts it among those in flight, as calls that are
/// pending are when they are run.
void count_in_flight(Attached& attached, Passed why);

/// Runs a blocking call, calls the error handler on failure and returns the MPI error code.
/// Nullopt: nothing was done, and the host must run the call.
std::optional<int> try_run(Call& call);

/// The same for a component of the host, which calls the error handler itself. `attached` belongs
/// to the call's communicator.
std::optional<int> try_run(Call& call, Attached& attached);

}  // namespace weft::mpi
