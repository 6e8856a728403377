// weft's side of the program's communicators.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/pmpi/report.hpp"
#include "weft/weft.hpp"

namespace weft::pmpi {

class World;

/// Memory that is kept between calls, unless it is large.
class Buffer {
 public:
  std::byte* reserve(std::size_t bytes);
  /// After a call: gives back what is too large to be kept.
  void release_if_large() noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// What belongs to one communicator of the program. Used by one thread at a time, as collective
/// calls on a communicator are.
struct Attached {
  MPI_Comm comm = MPI_COMM_NULL;
  int size = 0;
  /// Empty: calls are passed through, and why. The same on all ranks.
  std::optional<Communicator> weft;
  Passed why = Passed::setup_failed;
  Buffer packed_input, packed_output;
};

/// Finds what belongs to a communicator, as an attribute on it, so that it is freed with it. Safe
/// from many threads; no lock is held while ranks wait for one another.
class Communicators {
 public:
  explicit Communicators(World& world);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  /// Collective over `comm` in its first call on it. Null when the handle is not a communicator.
  Attached* of(MPI_Comm comm);
  /// Frees what belongs to communicators that still exist.
  void free_all();

 private:
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* self);
  std::unique_ptr<Attached> attach(MPI_Comm comm);
  void connect(Attached& attached, std::vector<int> node_of_rank);
  bool have_room_everywhere(MPI_Comm comm);
  void forget(Attached* attached);

  World& world_;
  int keyval_ = MPI_KEYVAL_INVALID;
  std::mutex mutex_;
  std::vector<Attached*> live_;
};

}  // namespace weft::pmpi
