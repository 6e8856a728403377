// State that weft attaches to the program's communicators.
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

/// Buffer for packed data, kept between calls unless it is large.
class Buffer {
 public:
  std::byte* reserve(std::size_t bytes);
  /// To be called after a call: frees the memory where it is too large to be kept.
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

/// The state of one communicator of the program. Used by one thread at a time, as collective calls
/// on a communicator are.
struct Attached {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  /// The same on all ranks. not_connected: to be set up at the first call that weft runs.
  /// passed_through: all calls go to the host.
  enum class State : std::uint8_t { not_connected, connected, passed_through };
  State state = State::not_connected;
  Passed why = Passed::setup_failed;  // of passed_through
  std::optional<Communicator> weft;   // of connected
  Buffer packed_input, packed_output;
  std::vector<Part> parts;          // of irregular calls
  std::vector<Part> receive_parts;  // of calls that have two lists
  std::vector<std::size_t> counts;  // of MPI_Reduce_scatter
  Resolutions operations;
};

/// Finds the state of a communicator, which is an attribute of it and so is freed with it. Safe
/// from many threads; no lock is held while ranks wait for one another.
class Communicators {
 public:
  explicit Communicators(World& world);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  /// Null when the handle is not a communicator.
  Attached* of(MPI_Comm comm);
  /// Collective over the communicator, before the first call that weft runs on it. False: its calls
  /// are passed through.
  bool connect(Attached& attached);
  /// Frees the state of communicators that still exist.
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
