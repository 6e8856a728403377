#include "mpi/world/busy.hpp"

namespace weft::mpi {

Freeing::Freeing(const MPI_Comm* comm)
    : comm_(comm == nullptr ? MPI_COMM_NULL : *comm), outer_(last_) {
  last_ = this;
  Busy::word_ += Busy::kFreeing;
}

Freeing::~Freeing() {
  Busy::word_ -= Busy::kFreeing;
  last_ = outer_;
}

bool Freeing::contains(MPI_Comm comm) {
  const Freeing* one = last_;
  while (one != nullptr && one->comm_ != comm) one = one->outer_;
  return one != nullptr;
}

}  // namespace weft::mpi
