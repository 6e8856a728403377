// Resolution of MPI operations on MPI datatypes to weft's operations.
#pragma once

#include <mpi.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/operation.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/operations/host_operation.hpp"

namespace weft::mpi {

/// Weft's implementation of an operation on a datatype.
struct Resolution {
  /// Layout of a vector in the memory that the operation works on.
  enum class Form {
    in_place,  ///< the program's own
    pairs,     ///< the program's own; a value, then an int, with gaps that must not be written
    packed,    ///< as the host packs it
  };

  Layout layout;
  Operation operation;
  Form form = Form::in_place;
  std::size_t value_bytes = 0, index_offset = 0;  // of pairs
  std::unique_ptr<HostOperation> host;            // called by `operation`; null for kernels
};

/// Cache of the resolutions that a communicator has used. Used by one thread at a time.
class Resolutions {
 public:
  struct Known {
    MPI_Op op;
    MPI_Datatype type;
    std::shared_ptr<const Resolution> resolution;
  };
  std::vector<Known> known;             // predefined operations on predefined types: kept
  std::optional<Resolution> temporary;  // of any other pair: kept for one call

  /// Null where it is not kept.
  const Resolution* find(MPI_Op op, MPI_Datatype type) const {
    for (const Known& one : known) {
      if (one.op == op && one.type == type) return one.resolution.get();
    }
    return nullptr;
  }
};

/// Resolves operations. Safe from many threads.
class Operations {
 public:
  /// `self`: a communicator of this process alone that returns its errors. Both arguments must
  /// outlive this object.
  Operations(MPI_Comm self, const Layouts& layouts) : self_(self), layouts_(layouts) {}

  /// Null: the host refuses this operation on this datatype before it communicates. The pointer is
  /// valid until the next call with these `resolutions`.
  const Resolution* resolve(MPI_Op op, MPI_Datatype type, Resolutions& resolutions) const;

  /// Whether the host refuses this operation on this datatype before it communicates. Leaves the
  /// `resolutions` of the communicator as they are.
  bool refuses(MPI_Op op, MPI_Datatype type, const Resolutions& resolutions) const;

 private:
  std::shared_ptr<const Resolution> predefined(MPI_Op op, MPI_Datatype type) const;
  std::optional<Resolution> make(MPI_Op op, MPI_Datatype type) const;
  bool accepted(MPI_Op op, MPI_Datatype type) const;

  MPI_Comm self_;
  const Layouts& layouts_;
  mutable std::mutex mutex_;
  // Kernels for predefined operations on predefined types: of all communicators, as many serve a
  // single call, and to ask the host takes longer than that.
  mutable std::vector<Resolutions::Known> kernels_;
};

}  // namespace weft::mpi
