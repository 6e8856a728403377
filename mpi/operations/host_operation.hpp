// Operations that only the host MPI can do: those that programs define, and predefined ones on
// types for which weft has no kernel.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "kernels/operation.hpp"
#include "mpi/datatypes/layouts.hpp"

namespace weft::mpi {

/// An operation of the host on elements of a datatype, as weft's. Elements travel packed, so ranks
/// may describe them by datatypes that differ in their gaps; the operation sees them as this
/// rank's datatype lays them out, with that very handle. Operands are never exchanged, commutative
/// or not.
class HostOperation {
 public:
  /// `layouts` outlives this, `op` and the datatype its uses.
  HostOperation(const Layouts& layouts, MPI_Op op, const Layout& layout);
  HostOperation(const HostOperation&) = delete;
  HostOperation& operator=(const HostOperation&) = delete;
  ~HostOperation() = default;

  /// Good for as long as this lives.
  Operation operation() const;
  /// Throws HostError when the host failed since the last time, which it has no reason to.
  void check();

 private:
  /// Memory of one's own for some elements, as the datatype lays them out.
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
  void combine_some(std::byte* dst, const std::byte* left, const std::byte* right,
                    std::size_t elements) const;
  void combine_unpacked(std::byte* dst, const std::byte* left, const std::byte* right,
                        std::size_t elements) const;
  void apply(const std::byte* left, std::byte* right, std::size_t elements) const;

  const Layouts& layouts_;
  MPI_Op op_;
  Layout layout_;
  bool commutative_ = false;
  std::size_t at_once_;  // elements
  Elements left_, right_;
  mutable int code_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
