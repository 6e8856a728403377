// Reductions by functions of the host MPI: operations that programs define, and predefined ones on
// datatypes that weft has no kernel for.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "kernels/operation.hpp"
#include "mpi/datatypes/layouts.hpp"

namespace weft::mpi {

/// Adapter that gives an operation of the host, on elements of a datatype, the interface of weft's
/// operations. Elements are transferred packed, so datatypes of different ranks may differ in their
/// gaps; the operation is called with this rank's datatype, on elements in its layout. The order of
/// operands is kept, whether the operation is commutative or not.
class HostOperation {
 public:
  /// `layouts` must outlive this object; `op` and the datatype must exist while it is used.
  HostOperation(const Layouts& layouts, MPI_Op op, const Layout& layout);
  HostOperation(const HostOperation&) = delete;
  HostOperation& operator=(const HostOperation&) = delete;
  ~HostOperation() = default;

  /// Valid while this object exists.
  Operation operation() const;
  /// Throws HostError when the host has failed since the last call of this. Not expected to happen.
  void throw_if_failed();

 private:
  /// Buffer for some elements in the layout of the datatype.
  class Elements {
   public:
    void make(const Layout& layout, MPI_Count count);
    std::byte* get() const { return start_; }

   private:
    std::unique_ptr<std::byte[]> memory_;
    std::byte* start_ = nullptr;  // where the datatype's displacements count from
  };

  static void combine(const void* self, std::byte* dst, const std::byte* left,
                      const std::byte* right, std::size_t elements) noexcept;
  void combine_contiguous(std::byte* dst, const std::byte* left, const std::byte* right,
                          std::size_t elements) const;
  void combine_unpacked(std::byte* dst, const std::byte* left, const std::byte* right,
                        std::size_t elements) const;
  void apply(const std::byte* left, std::byte* right, std::size_t elements) const;

  const Layouts& layouts_;
  MPI_Op op_;
  Layout layout_;
  bool commutative_ = false;
  bool only_in_calls_ = true;  // the host has no other thread, nor has the program
  std::size_t batch_;          // elements for each call of the host
  Elements left_, right_;
  mutable int code_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
