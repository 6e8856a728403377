// A collective call of a drawn program, with what each rank must find in its memory afterwards.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "communicators.hpp"

namespace weft::test {

enum class Form { blocking, nonblocking, persistent };
enum class Kind {
  barrier,
  bcast,
  scatter,
  scatterv,
  gather,
  gatherv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  neighbor_allgather,
  reduce,
  allreduce,
  scan,
  exscan,
  reduce_scatter,
  reduce_scatter_block
};
inline constexpr int kKinds = 18;
const char* name_of(Kind kind);

/// What may be drawn; smaller values make simpler programs.
struct Limits {
  int elements = 1 << 16;  // numbers in a block, at most
  int depth = 4;           // of datatypes
  bool delays = true;      // ranks arrive late
  bool blocking_only = false;
  bool persistent = true;
  bool alike = false;       // ranks describe the same data by the same datatype
  bool frees_early = true;  // datatypes, operations, communicators of calls under way
  bool settles = false;     // completes all calls before the MPI itself waits in a collective
};

class Call {
 public:
  virtual ~Call() = default;
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Fills the memory for the turn, 0 for the first.
  virtual void prepare(std::uint64_t turn) = 0;
  /// Calls the collective in the form. A persistent one is not started by that.
  virtual int call(Form form, MPI_Request* request) = 0;
  /// Frees what the program may free once the call has been made.
  virtual void free_handles() = 0;
  /// Whether the MPI itself runs it in any case, as there is nothing to exchange.
  virtual bool is_hosts() const { return false; }
  /// Whether it may be persistent.
  virtual bool can_persist() const { return true; }
  /// Nothing, or what is wrong now that the call is complete.
  virtual std::string fault() = 0;
  /// For people.
  virtual std::string text() const = 0;
};

/// A step of a program, by their numbers.
struct Place {
  std::uint64_t program = 0;
  int step = 0;
};

/// The call that the seed draws; the ranks of the communicator all have the same one.
std::unique_ptr<Call> draw_call(const Communicator& communicator, std::uint64_t seed, Place place,
                                const Limits& limits);
std::unique_ptr<Call> draw_move(Kind kind, const Communicator& communicator, Random& shared,
                                const Limits& limits);
std::unique_ptr<Call> draw_reduction(Kind kind, const Communicator& communicator, Random& shared,
                                     const Limits& limits);

}  // namespace weft::test
