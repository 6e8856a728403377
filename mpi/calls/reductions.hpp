// The collectives that combine what ranks give by an operation.
#pragma once

#include <optional>

#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"
#include "mpi/operations/operations.hpp"

namespace weft::mpi {

/// What every reduction is given.
struct Vectors {
  const void* send;
  void* receive;
  MPI_Datatype type;
  MPI_Op op;
};

/// Any reduction: a vector goes in, a vector of as many elements or of fewer comes out.
class Reduction : public Call {
 public:
  std::optional<Passed> judge(const Context& context) final;
  void run(const Context& context) final;

 protected:
  Reduction(plan::Collective collective, const Vectors& vectors, MPI_Comm comm)
      : Call(collective, comm), vectors_(vectors) {}
  ~Reduction() = default;

  /// How many elements this rank gives, and how many it is given, if any. False: the host refuses
  /// the count, or the root. Called once.
  virtual bool read_counts(const Context& context) = 0;
  /// Runs it on memory where elements lie as the operation wants them.
  virtual void reduce(const Context& context, const std::byte* input, std::byte* output,
                      const Operation& operation) = 0;

  MPI_Count given_ = 0;    // elements of this rank's vector
  MPI_Count results_ = 0;  // elements that come out on this rank
  bool receives_ = true;   // whether the receive buffer counts on this rank

 private:
  bool buffers_are_good() const;

  Vectors vectors_;
  bool in_place_ = false;
  const Resolution* resolution_ = nullptr;
};

/// MPI_Reduce.
class Reduce final : public Reduction {
 public:
  Reduce(const Vectors& vectors, MPI_Count count, int root, MPI_Comm comm)
      : Reduction(plan::Collective::reduce, vectors, comm), count_(count), root_(root) {}

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              const Operation& operation) override;

  MPI_Count count_;
  int root_;
};

/// MPI_Allreduce, MPI_Scan and MPI_Exscan.
class ReduceForAll final : public Reduction {
 public:
  ReduceForAll(plan::Collective collective, const Vectors& vectors, MPI_Count count, MPI_Comm comm)
      : Reduction(collective, vectors, comm), count_(count) {}

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              const Operation& operation) override;

  MPI_Count count_;
};

/// MPI_Reduce_scatter_block.
class ReduceScatterBlock final : public Reduction {
 public:
  ReduceScatterBlock(const Vectors& vectors, MPI_Count count, MPI_Comm comm)
      : Reduction(plan::Collective::reduce_scatter, vectors, comm), count_(count) {}

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              const Operation& operation) override;

  MPI_Count count_;
};

/// MPI_Reduce_scatter.
class ReduceScatter final : public Reduction {
 public:
  ReduceScatter(const Vectors& vectors, Integers counts, MPI_Comm comm)
      : Reduction(plan::Collective::reduce_scatter, vectors, comm), counts_(counts) {}

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              const Operation& operation) override;

  Integers counts_;
};

}  // namespace weft::mpi
