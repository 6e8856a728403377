// The collectives without a root and without an operation that move data, and the barrier.
#pragma once

#include "mpi/pmpi/calls/blocks.hpp"
#include "mpi/pmpi/calls/call.hpp"

namespace weft::pmpi {

class Barrier final : public Call {
 public:
  explicit Barrier(MPI_Comm comm) : Call(plan::Collective::barrier, comm) {}
  std::optional<Passed> judge(const Context& context) override;
  void run(const Context& context) override;
};

/// MPI_Allgather and MPI_Allgatherv.
class Allgather final : public Call {
 public:
  Allgather(const Blocks& send, const Blocks& receive, MPI_Comm comm)
      : Call(plan::Collective::allgather, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  void run(const Context& context) override;

 private:
  Blocks send_, receive_;
};

}  // namespace weft::pmpi
