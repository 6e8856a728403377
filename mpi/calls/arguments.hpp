// Arguments of calls that outlive the function which was called: copies of arrays, and the handles
// that must not be freed meanwhile.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace weft::mpi {

/// Copies of arrays. MPI lets a program change them only when the call is over, but the Fortran
/// bindings of some hosts give arrays of their own, which are gone before.
class Arrays {
 public:
  Arrays() = default;
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  /// The copy; one for each array. Null stays null. Behind it are `zeros` bytes of zeros.
  const void* keep(const void* array, std::size_t bytes, std::size_t zeros = 0);
  /// The same of the datatypes of an alltoallw, with null handles behind them where the host looks
  /// at more of them.
  const MPI_Datatype* keep(const MPI_Datatype* types, int blocks);
  /// Null where there is no copy.
  const void* find(const void* array) const noexcept;

  /// An argument of MPI's function: the copy where it is an array that was kept.
  template <class Argument>
  Argument replace(Argument argument) const noexcept {
    using Element = std::remove_pointer_t<Argument>;
    if constexpr (std::is_pointer_v<Argument> && std::is_const_v<Element> &&
                  !std::is_void_v<Element>) {
      const void* copy = find(argument);
      return copy == nullptr ? argument : static_cast<Argument>(copy);
    } else {
      return argument;
    }
  }

 private:
  static constexpr std::size_t kMostArrays = 6;  // of one call

  struct Kept {
    const void* array = nullptr;
    const void* copy = nullptr;
  };
  std::array<Kept, kMostArrays> kept_ = {};
  std::size_t count_ = 0;
  // Short ones lie in one piece of memory, which is not allocated.
  alignas(std::max_align_t) std::array<std::byte, 256> few_;
  std::size_t few_bytes_ = 0;
  std::array<std::unique_ptr<std::byte[]>, kMostArrays> many_;
};

/// Different datatypes: most calls have one or two, which take no memory of their own.
class DatatypeSet {
 public:
  void add(MPI_Datatype type);
  bool contains(MPI_Datatype type) const noexcept;
  const MPI_Datatype* begin() const noexcept { return many_.empty() ? few_.data() : many_.data(); }
  const MPI_Datatype* end() const noexcept { return begin() + count_; }

 private:
  std::array<MPI_Datatype, 2> few_ = {};
  std::vector<MPI_Datatype> many_;  // all of them, where there are more
  std::size_t count_ = 0;
};

/// What a call uses until its end.
struct Handles {
  DatatypeSet types;
  MPI_Op op = MPI_OP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

  void add(MPI_Datatype type) { types.add(type); }
  bool contains(MPI_Datatype type) const noexcept { return types.contains(type); }
};

}  // namespace weft::mpi
