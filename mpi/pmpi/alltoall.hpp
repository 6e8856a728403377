// MPI_Alltoall over weft.
#pragma once

#include "mpi/pmpi/blocks.hpp"
#include "mpi/pmpi/call.hpp"

namespace weft::pmpi {

class Alltoall final : public Call {
 public:
  Alltoall(const Blocks& send, const Blocks& receive, MPI_Comm comm)
      : Call(plan::Collective::alltoall, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  void run(const Context& context) override;

 private:
  Blocks send_, receive_;
};

}  // namespace weft::pmpi
