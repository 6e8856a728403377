#include "mpi/launch/host_buffers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft {

namespace {

constexpr std::array kReductions = {"reduce", "allreduce", "reduce_scatter_block", "scan",
                                    "exscan"};
constexpr std::array kOthers = {"alltoall", "bcast", "allgather", "barrier"};

bool has_blocks_of_all(const std::string& collective) {
  return collective == "alltoall" || collective == "allgather" ||
         collective == "reduce_scatter_block";
}

}  // namespace

bool is_reduction(const std::string& collective) {
  return std::ranges::find(kReductions, collective) != kReductions.end();
}

int call_reduction(const std::string& collective, const void* input, void* output, int count,
                   MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  if (collective == "reduce") return PMPI_Reduce(input, output, count, type, operation, 0, comm);
  if (collective == "allreduce") {
    return PMPI_Allreduce(input, output, count, type, operation, comm);
  }
  if (collective == "reduce_scatter_block") {
    return PMPI_Reduce_scatter_block(input, output, count, type, operation, comm);
  }
  if (collective == "scan") return PMPI_Scan(input, output, count, type, operation, comm);
  return PMPI_Exscan(input, output, count, type, operation, comm);
}

bool HostBuffers::knows(const std::string& collective) {
  return is_reduction(collective) || std::ranges::find(kOthers, collective) != kOthers.end();
}

HostBuffers::HostBuffers(std::string collective, std::uint64_t bytes, int ranks)
    : collective_(std::move(collective)), count_(static_cast<int>(bytes)) {
  if (is_reduction(collective_) && bytes % sizeof(double) == 0) {
    type_ = MPI_DOUBLE;
    operation_ = MPI_SUM;
    count_ = static_cast<int>(bytes / sizeof(double));
  }
  const std::size_t all =
      bytes * (has_blocks_of_all(collective_) ? static_cast<std::size_t>(ranks) : 1);
  input_.resize(all);
  output_.resize(all);
}

int HostBuffers::call(MPI_Comm comm) {
  if (collective_ == "barrier") return PMPI_Barrier(comm);
  if (collective_ == "bcast") return PMPI_Bcast(output_.data(), count_, type_, 0, comm);
  if (collective_ == "alltoall") {
    return PMPI_Alltoall(input_.data(), count_, type_, output_.data(), count_, type_, comm);
  }
  if (collective_ == "allgather") {
    return PMPI_Allgather(input_.data(), count_, type_, output_.data(), count_, type_, comm);
  }
  return call_reduction(collective_, input_.data(), output_.data(), count_, type_, operation_,
                        comm);
}

}  // namespace weft
