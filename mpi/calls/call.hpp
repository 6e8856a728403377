// Blocking collective of the program: taken by weft or passed to the host MPI, and its error code.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/world/communicators.hpp"
#include "mpi/world/world.hpp"
#include "plan/problem.hpp"

namespace weft::mpi {

/// What a call finds here.
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

  /// Looks at the arguments; nullopt: weft takes the call. Whether it does follows from what all
  /// ranks share, or from arguments that no rank may give, which the host refuses before it
  /// communicates. UsageError on those that the host would notice too late, when others wait.
  virtual std::optional<Passed> judge(const Context& context) = 0;
  /// Does it. What it throws becomes the error of the call.
  virtual void run(const Context& context) = 0;

 protected:
  Call(plan::Collective collective, MPI_Comm comm) : collective_(collective), comm_(comm) {}
  ~Call() = default;

 private:
  plan::Collective collective_;
  MPI_Comm comm_;
};

/// While this lives the thread is freeing `*comm`, and attribute callbacks of the program may use
/// it once more. Those calls are the host's: which of the attributes goes first, and so whether
/// what belongs to weft is still there, may differ from rank to rank.
class Freeing {
 public:
  explicit Freeing(const MPI_Comm* comm);
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  ~Freeing();

  /// Whether this thread is freeing it.
  static bool has(MPI_Comm comm);

 private:
  MPI_Comm comm_;
  const Freeing* outer_;
};

/// Does the call and returns its MPI error code, its error raised. Nullopt: nothing was done, the
/// call is the host's.
std::optional<int> take(Call& call);

}  // namespace weft::mpi
