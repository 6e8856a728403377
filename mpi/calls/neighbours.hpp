// Neighbourhood collectives over weft: MPI_Neighbor_alltoall[v,w] and MPI_Neighbor_allgather[v].
#pragma once

#include <cstddef>

#include "mpi/calls/call.hpp"
#include "mpi/calls/edge_blocks.hpp"

namespace weft::mpi {

/// Any of them: what differs is where blocks lie. To weft it is an alltoallv between neighbours: a
/// rank knows its own blocks and nothing of others, so it is counted as one, is left to the host
/// where those are, and weft takes over by the same rule.
class Neighbours final : public Call {
 public:
  Neighbours(const EdgeBlocks& send, const EdgeBlocks& receive, MPI_Comm comm)
      : Call(plan::Collective::alltoallv, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context&) const override { return std::nullopt; }
  std::optional<std::uint64_t> sent_bytes() const override { return sent_bytes_; }
  std::optional<std::size_t> raced_function(const Context& context) const override;
  void describe(RecordedKind& kind, const Context&) const override {
    describe_irregular(kind);
    kind.neighbours = true;
  }
  void run(const Context& context) override;
  void keep(Arrays& arrays, const Attached& attached) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

 private:
  std::size_t function() const {
    return send_.number_of_form() * EdgeBlocks::kForms + receive_.number_of_form();
  }
  const char* name_of_function() const;

  EdgeBlocks send_, receive_;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace weft::mpi
