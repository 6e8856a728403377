// Buffer arguments of neighbourhood collectives: a block for each neighbour, or one for all.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/calls/arguments.hpp"
#include "mpi/calls/blocks.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/world/neighbourhood.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// Weft works on the program's buffer where the elements of all blocks are plain bytes in this
/// processor's memory, else on a buffer in which the blocks are packed one behind another. Blocks
/// of no neighbour are not looked at.
class EdgeBlocks {
 public:
  /// One block that goes to all neighbours.
  static EdgeBlocks same(const void* buffer, MPI_Count count, MPI_Datatype type) {
    return {Form::same, buffer, count, type};
  }
  /// Consecutive blocks of `count` elements each.
  static EdgeBlocks row(const void* buffer, MPI_Count count, MPI_Datatype type) {
    return {Form::row, buffer, count, type};
  }
  /// Block i has counts[i] elements and begins displacements[i] elements behind `buffer`.
  static EdgeBlocks irregular(const void* buffer, Integers counts, Integers displacements,
                              MPI_Datatype type) {
    return {Form::irregular, buffer, counts, displacements, type, nullptr};
  }
  /// Block i has counts[i] elements of types[i] and begins displacements[i] bytes behind `buffer`.
  static EdgeBlocks typed(const void* buffer, Integers counts, Integers displacements,
                          const MPI_Datatype* types) {
    return {Form::typed, buffer, counts, displacements, MPI_DATATYPE_NULL, types};
  }

  /// As Blocks::keep(), of `blocks` blocks.
  void keep(Arrays& arrays, int blocks);
  void add_types(Handles& handles, int blocks) const;

  /// Tells apart the functions of MPI, together with that of the other argument.
  std::size_t number_of_form() const { return static_cast<std::size_t>(form_); }
  static constexpr std::size_t kForms = 4;

  bool is_in_place() const { return buffer_ == MPI_IN_PLACE; }
  /// Looks up the datatypes and writes the edges of the blocks that are not empty. False: the host
  /// refuses these arguments. `neighbours` must live as long as this object.
  bool look_up(const Layouts& layouts, std::span<const Neighbour> neighbours,
               std::vector<Edge>& edges);
  /// Of all edges, without those that share a block.
  std::size_t total_bytes() const { return total_bytes_; }

  /// The bytes to send: of the program's buffer, or packed into `packed`.
  const std::byte* input(const Layouts& layouts, Buffer& packed) const;
  /// Where to receive: the program's buffer, or `packed`, which deliver() then unpacks.
  std::byte* output(Buffer& packed) const {
    return direct_ ? lowest_ : packed.reserve(total_bytes_);
  }
  void deliver(const Layouts& layouts, const std::byte* output) const;

 private:
  enum class Form : std::uint8_t { same, row, irregular, typed };

  EdgeBlocks(Form form, const void* buffer, MPI_Count count, MPI_Datatype type)
      : form_(form),
        buffer_(static_cast<std::byte*>(const_cast<void*>(buffer))),
        count_(count),
        type_(type) {}
  EdgeBlocks(Form form, const void* buffer, Integers counts, Integers displacements,
             MPI_Datatype type, const MPI_Datatype* types)
      : form_(form),
        buffer_(static_cast<std::byte*>(const_cast<void*>(buffer))),
        type_(type),
        counts_(counts),
        displacements_(displacements),
        types_(types) {}

  bool has_arrays() const { return form_ == Form::irregular || form_ == Form::typed; }
  MPI_Count count(int block) const { return has_arrays() ? counts_[block] : count_; }
  /// The layout of a block's elements, which is looked up again where each has a type of its own.
  const Layout& layout(const Layouts& layouts, int block, Layout& own) const;
  std::byte* memory(const Layout& layout, int block) const;
  template <class Body>
  void for_each_block(const Layouts& layouts, Body body) const;

  Form form_;
  std::byte* buffer_;
  MPI_Count count_ = 0;
  MPI_Datatype type_;
  Integers counts_ = static_cast<const int*>(nullptr);
  Integers displacements_ = static_cast<const int*>(nullptr);
  const MPI_Datatype* types_ = nullptr;

  std::span<const Neighbour> neighbours_;
  Layout layout_;  // but for Form::typed
  bool direct_ = true;
  std::byte* lowest_ = nullptr;
  std::size_t total_bytes_ = 0;
};

}  // namespace weft::mpi
