// Elements of MPI's predefined datatypes, and MPI's predefined operations on them, computed here:
// what the standard says of them, with values whose results are exact in any order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "random.hpp"

namespace weft::test {

enum class Operation { sum, prod, max, min, land, lor, lxor, band, bor, bxor, maxloc, minloc };
inline constexpr int kOperations = 12;
MPI_Op handle_of(Operation operation);
const char* name_of(Operation operation);

struct Element {
  MPI_Datatype type;
  const char* name;
  int bytes;                // of a number, or of the first one of a pair
  int second_at;            // of a pair, behind its begin; else 0
  int second_bytes;         // of a pair; else 0
  bool (*fits)(Operation);  // whether MPI defines it
  void (*put)(Operation, Random&, std::byte* to);
  /// second = first op second.
  void (*combine)(Operation, const std::byte* first, std::byte* second);
  /// Makes equal values equal bytes: no negative zero, no padding.
  void (*settle)(std::byte* at);
};

/// Those that the MPI has.
const std::vector<Element>& elements();

}  // namespace weft::test
