// Datatypes of any depth, drawn together with where their bytes lie, which is computed here and not
// asked of the MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "elements.hpp"

namespace weft::test {

struct Piece {
  MPI_Aint at = 0;  // bytes behind the buffer's address; may be negative
  int bytes = 0;
};

/// A datatype, and its type map: a piece for each number in it, in the order of the map.
struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool is_made = false;  // to be freed
  std::vector<Piece> pieces;
  MPI_Aint extent = 0;
  MPI_Aint low = 0, high = 0;  // the bytes of the pieces lie between these

  void free();
};

/// What a message consists of: one element after another.
using Signature = std::vector<const Element*>;

/// One element, or several of any elements, `longest` at most. Alike: of one element.
Signature draw_signature(Random& random, int longest, bool alike);
/// Some datatype with that signature, committed; its pieces do not overlap. `depth` 0: the elements
/// one behind the other.
Layout draw_layout(const Signature& signature, int depth, Random& random);

}  // namespace weft::test
