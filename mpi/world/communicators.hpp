// weft's side of the program's communicators.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/operations/operations.hpp"
#include "mpi/report/job_report.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

class World;

/// Memory that is kept between calls, unless it is large.
class Buffer {
 public:
  std::byte* reserve(std::size_t bytes);
  /// After a call: gives back what is too large to be kept.
  void release_if_large() noexcept {
    if (bytes_ > kMostKept) release();
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20;

  void release() noexcept;
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
  int rank = 0;
  int size = 0;
  /// Not yet connected: nothing that the ranks share stands in the way so far. Apart: calls are
  /// passed through. The same on all ranks.
  enum class State : std::uint8_t { not_connected, connected, apart } state = State::not_connected;
  Passed why = Passed::setup_failed;  // when apart
  std::optional<Communicator> weft;   // when connected
  Buffer packed_input, packed_output;
  std::vector<Part> parts;          // of irregular calls
  std::vector<Part> receive_parts;  // of calls that have two lists
  std::vector<std::size_t> counts;  // likewise
  Resolutions operations;
};

/// Finds what belongs to a communicator, as an attribute on it, so that it is freed with it. Safe
/// from many threads; no lock is held while ranks wait for one another.
class Communicators {
 public:
  explicit Communicators(World& world);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  /// Null when the handle is not a communicator.
  Attached* of(MPI_Comm comm);
  /// Collective over the communicator, before the first call that weft takes on it. False: it is
  /// apart.
  bool connect(Attached& attached);
  /// Frees what belongs to communicators that still exist.
  void free_all();

 private:
  static int on_delete(MPI_Comm comm, int keyval, void* value, void* self);
  static std::unique_ptr<Attached> attach(MPI_Comm comm);
  void set_up(Attached& attached, const hierarchy::Machine& machine);
  bool have_room_everywhere(MPI_Comm comm);
  void forget(Attached* attached);

  World& world_;
  int keyval_ = MPI_KEYVAL_INVALID;
  std::mutex mutex_;
  std::vector<Attached*> live_;
  std::size_t connected_ = 0;
};

}  // namespace weft::mpi
