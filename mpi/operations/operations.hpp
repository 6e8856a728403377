// MPI's operations on MPI's datatypes, as weft's operations.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/operation.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/operations/host_operation.hpp"

namespace weft::mpi {

/// How weft does an operation on a datatype.
struct Resolution {
  /// How a vector lies in the memory that the operation works on.
  enum class Form {
    in_place,  ///< as the program has it
    pairs,     ///< likewise, but with gaps that must not be written: a value, then an int
    packed,    ///< as the host packs it
  };

  Layout layout;
  Operation operation;
  Form form = Form::in_place;
  std::size_t value_bytes = 0, index_offset = 0;  // of pairs
  std::unique_ptr<HostOperation> host;            // what `operation` calls, if not a kernel
};

/// The pairs of operation and datatype that a communicator has met. Used by one thread at a time.
class Resolutions {
 public:
  struct Known {
    MPI_Op op;
    MPI_Datatype type;
    std::unique_ptr<const Resolution> resolution;
  };
  std::vector<Known> known;           // predefined operations on predefined types: they stay
  std::optional<Resolution> passing;  // of any other, for one call
};

/// Resolves operations. Safe from many threads.
class Operations {
 public:
  /// `self`: a communicator of this process alone that returns its errors. Both outlive this.
  Operations(MPI_Comm self, const Layouts& layouts) : self_(self), layouts_(layouts) {}

  /// Null: the host refuses this operation on this datatype, before it communicates. Good until
  /// the next call with these `resolutions`.
  const Resolution* resolve(MPI_Op op, MPI_Datatype type, Resolutions& resolutions) const;

 private:
  std::optional<Resolution> make(MPI_Op op, MPI_Datatype type) const;
  bool accepted(MPI_Op op, MPI_Datatype type) const;

  MPI_Comm self_;
  const Layouts& layouts_;
};

}  // namespace weft::mpi
