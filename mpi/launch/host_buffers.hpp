// Host buffers: the memory of a call of an MPI's collective, and the call itself.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// A collective of some bytes; reductions are sums of doubles, or of bytes by "or" where the bytes
/// are no whole doubles. Roots are rank 0.
class HostBuffers {
 public:
  /// False for a collective that this cannot call.
  static bool knows(const std::string& collective);

  HostBuffers(std::string collective, std::uint64_t bytes, int ranks);

  /// An error code of MPI.
  int call(MPI_Comm comm);

 private:
  std::string collective_;
  int count_;  // of elements of a block
  MPI_Datatype type_ = MPI_BYTE;
  MPI_Op operation_ = MPI_BOR;
  std::vector<std::byte> input_, output_;
};

/// The same of a reduction, by any operation.
int call_reduction(const std::string& collective, const void* input, void* output, int count,
                   MPI_Datatype type, MPI_Op operation, MPI_Comm comm);
bool is_reduction(const std::string& collective);

}  // namespace weft
