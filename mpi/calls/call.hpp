// Blocking collective of the program: run by weft or passed to the host MPI, and its error code.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

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

  /// Looks at the arguments; nullopt: weft may serve the call. Whether it does follows from what
  /// all ranks share, or from invalid arguments, which the host refuses before it communicates.
  /// Arguments that the host would find wrong too late, when others wait, are no reason:
  /// is_contradictory() tells them.
  virtual std::optional<Passed> judge(const Context& context) = 0;
  /// After judge(): the bytes of a block (of a vector) as all ranks know them; nothing where a rank
  /// knows its own only.
  virtual std::optional<std::uint64_t> block_bytes(const Context& context) const = 0;
  /// Does it. What it throws becomes the error of the call.
  virtual void run(const Context& context) = 0;

  /// This rank's arguments contradict each other, though the others may wait for it.
  bool is_contradictory() const { return own_sends_ != own_receives_; }
  std::string contradiction() const;

 protected:
  Call(plan::Collective collective, MPI_Comm comm) : collective_(collective), comm_(comm) {}
  ~Call() = default;

  /// Of what this rank sends to itself.
  void compare_sizes(const char* name, std::size_t sends, std::size_t receives) {
    name_ = name;
    own_sends_ = sends;
    own_receives_ = receives;
  }

 private:
  plan::Collective collective_;
  MPI_Comm comm_;
  const char* name_ = "";
  std::size_t own_sends_ = 0;  // bytes
  std::size_t own_receives_ = 0;
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
