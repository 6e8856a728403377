// Job: a bootstrap over MPI_COMM_WORLD of a process that an MPI's launcher has started.
#pragma once

#include "weft/mpi.hpp"

namespace weft {

/// MPI_COMM_WORLD, from MPI_Init to MPI_Finalize.
class Job final : public Bootstrap {
 public:
  Job() {
    if (PMPI_Init(nullptr, nullptr) != MPI_SUCCESS) throw Error("MPI_Init failed");
    world_ = mpi_bootstrap(MPI_COMM_WORLD);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() override {
    world_.reset();
    PMPI_Finalize();
  }

  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  std::vector<std::string> allgather(std::string_view mine) override {
    return world_->allgather(mine);
  }
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return world_->exchange(peers, mine);
  }
  void give_up(std::string_view why) override { world_->give_up(why); }
  void progress() override { world_->progress(); }
  void check() override { world_->check(); }

 private:
  std::unique_ptr<Bootstrap> world_;
};

}  // namespace weft
