// Reductions: MPI_Reduce, MPI_Allreduce, MPI_Reduce_scatter[_block], MPI_Scan and MPI_Exscan over
// weft.
#pragma once

#include <optional>

#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"
#include "mpi/operations/operations.hpp"

namespace weft::mpi {

/// The arguments that all reductions share.
struct Vectors {
  const void* send;
  void* receive;
  MPI_Datatype type;
  MPI_Op op;
};

/// Base of all reductions: combines one input vector of each rank into a result vector of at most
/// as many elements.
class Reduction : public Call {
 public:
  std::optional<Passed> judge(const Context& context) final;
  std::optional<std::uint64_t> block_bytes(const Context& context) const final;
  bool is_exact() const final { return resolution_->operation.associative; }
  std::optional<Plain> plain(const Context& context) const final;
  void describe(RecordedKind& kind, const Context& context) const override;
  void run(const Context& context) final;
  void add_handles(Handles& handles, const Attached& attached) const final;

 protected:
  Reduction(plan::Collective collective, const Vectors& vectors, MPI_Comm comm, int root = 0)
      : Call(collective, comm, root), vectors_(vectors) {}
  ~Reduction() = default;

  bool is_surely_refused(const Context& context) final;

  /// Sets given_, results_ and receives_ from the arguments. False: the host refuses the count or
  /// the root. Called once.
  virtual bool read_counts(const Context& context) = 0;
  /// Runs the collective on memory where elements have the layout that the operation expects.
  /// `elements`: of each rank's input; fewer than given_ in a slice of a vector that stays a
  /// vector.
  virtual void reduce(const Context& context, const std::byte* input, std::byte* output,
                      std::size_t elements, const Operation& operation) = 0;
  /// Of a reduce_scatter, where vectors of all ranks are cut into the results of each: the elements
  /// of a rank's.
  virtual MPI_Count results_of(int /*rank*/) const { return 0; }

  MPI_Count given_ = 0;    // elements of this rank's input
  MPI_Count results_ = 0;  // elements of this rank's result
  bool receives_ = true;   // whether the receive buffer is used on this rank

 private:
  bool buffers_are_good() const;
  bool lacks_buffer(const Layout& layout) const;
  bool is_long_and_copied() const;
  void run_in_slices(const Context& context);
  void run_slice(const Context& context, MPI_Count from, MPI_Count elements, MPI_Count results);
  void scatter_in_pieces(const Context& context);
  void take(const Layouts& layouts, const std::byte* input, MPI_Count elements,
            std::byte* copy) const;
  void deliver(const Layouts& layouts, const std::byte* output, std::byte* receive,
               MPI_Count results) const;
  void move_result(const Layouts& layouts, MPI_Count from, MPI_Count at_once,
                   std::byte* memory) const;
  std::byte* receives_at(MPI_Count element) const {
    return static_cast<std::byte*>(vectors_.receive) + element * resolution_->layout.extent_bytes;
  }

  Vectors vectors_;
  bool in_place_ = false;
  const Resolution* resolution_ = nullptr;
};

/// MPI_Reduce.
class Reduce final : public Reduction {
 public:
  Reduce(const Vectors& vectors, MPI_Count count, int root, MPI_Comm comm)
      : Reduction(plan::Collective::reduce, vectors, comm, root), count_(count) {}
  void describe(RecordedKind& kind, const Context& context) const override;

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              std::size_t elements, const Operation& operation) override;

  MPI_Count count_;
};

/// MPI_Allreduce, MPI_Scan and MPI_Exscan.
class ReduceForAll final : public Reduction {
 public:
  ReduceForAll(plan::Collective collective, const Vectors& vectors, MPI_Count count, MPI_Comm comm)
      : Reduction(collective, vectors, comm), count_(count) {}

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              std::size_t elements, const Operation& operation) override;

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
              std::size_t elements, const Operation& operation) override;
  MPI_Count results_of(int /*rank*/) const override { return count_; }

  MPI_Count count_;
};

/// MPI_Reduce_scatter.
class ReduceScatter final : public Reduction {
 public:
  ReduceScatter(const Vectors& vectors, Integers counts, MPI_Comm comm)
      : Reduction(plan::Collective::reduce_scatter, vectors, comm), counts_(counts) {}
  void keep(Arrays& arrays, const Attached& attached) override;

 private:
  bool read_counts(const Context& context) override;
  void reduce(const Context& context, const std::byte* input, std::byte* output,
              std::size_t elements, const Operation& operation) override;
  MPI_Count results_of(int rank) const override { return counts_[rank]; }

  Integers counts_;
};

}  // namespace weft::mpi
