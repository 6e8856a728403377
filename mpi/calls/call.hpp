// Blocking collective of the program: run by weft or passed to the host MPI, and its error code.
#pragma once

#include <mpi.h>

#include <optional>

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

  /// Checks the arguments; nullopt: weft runs the call, else the reason why the host must. All
  /// ranks must decide alike, so the decision depends only on facts that all ranks share, and on
  /// invalid arguments, which the host refuses before it communicates. UsageError on invalid
  /// arguments that the host would find only after other ranks have begun to wait.
  virtual std::optional<Passed> judge(const Context& context) = 0;
  /// Runs the call. An exception becomes the error of the call.
  virtual void run(const Context& context) = 0;

 protected:
  Call(plan::Collective collective, MPI_Comm comm) : collective_(collective), comm_(comm) {}
  ~Call() = default;

 private:
  plan::Collective collective_;
  MPI_Comm comm_;
};

/// Scope in which this thread frees `*comm`. Attribute callbacks of the program may call
/// collectives on it once more; those go to the host, since ranks may delete attributes, weft's
/// among them, in different orders.
class Freeing {
 public:
  explicit Freeing(const MPI_Comm* comm);
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  ~Freeing();

  /// Whether this thread is freeing `comm`.
  static bool contains(MPI_Comm comm);

 private:
  MPI_Comm comm_;
  const Freeing* outer_;
};

/// Runs the call, calls the error handler on failure and returns the MPI error code. Nullopt:
/// nothing was done, and the host must run the call.
std::optional<int> try_run(Call& call);

}  // namespace weft::mpi
