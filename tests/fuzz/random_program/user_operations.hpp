// Operations of the program's own, each a function that knows how the data of its call lies.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "layouts.hpp"

namespace weft::test {

/// Values are pairs of ints below a prime, one after the other in the type map.
enum class UserKind {
  chain,  // x -> a x + b after another such map: associative, not commutative
  total   // sums modulo the prime: commutative
};
int draw_value(Random& random);
/// second = first op second, for one element.
void combine(UserKind kind, const Layout& layout, const std::byte* first, std::byte* second);

/// An operation for elements of a layout, which stays valid after MPI_Op_free, until it is given
/// back.
class UserOperation {
 public:
  UserOperation(UserKind kind, const Layout& layout);
  UserOperation(const UserOperation&) = delete;
  UserOperation& operator=(const UserOperation&) = delete;
  ~UserOperation();
  MPI_Op* handle() noexcept { return &handle_; }

 private:
  MPI_Op handle_ = MPI_OP_NULL;
  int place_ = 0;
};

}  // namespace weft::test
