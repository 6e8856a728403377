// Collectives that move data without combining it, and the barrier: MPI_Barrier, MPI_Bcast,
// MPI_Scatter[v], MPI_Gather[v] and MPI_Allgather[v] over weft. Only the root reads the arguments
// that only the root must give, so the choice between weft and the host must not depend on them.
#pragma once

#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"

namespace weft::mpi {

class Barrier final : public Call {
 public:
  explicit Barrier(MPI_Comm comm) : Call(plan::Collective::barrier, comm) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  std::optional<Plain> plain(const Context& context) const override;
  void run(const Context& context) override;
};

/// MPI_Allgather and MPI_Allgatherv.
class Allgather final : public Call {
 public:
  Allgather(const Blocks& send, const Blocks& receive, MPI_Comm comm)
      : Call(plan::Collective::allgather, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  void describe(RecordedKind& kind, const Context& context) const override;
  std::optional<Plain> plain(const Context& context) const override;
  void run(const Context& context) override;
  void keep(Arrays& arrays, const Attached& attached) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

  /// Where the bytes lie of an MPI_Allgatherv that went straight from and to the program's memory,
  /// and of few bytes: behind the address of the output.
  struct Straight {
    std::ptrdiff_t all = 0;  // of all ranks
    std::ptrdiff_t own = 0;  // of this rank
  };
  /// After run(), of rank `rank`. Nullopt: it went in another way.
  std::optional<Straight> straight(int rank) const;

 private:
  void run_in_pieces(const Context& context, std::size_t pieces);
  bool is_straight() const;

  Blocks send_, receive_;
};

class Broadcast final : public Call {
 public:
  Broadcast(const Blocks& data, int root, MPI_Comm comm)
      : Call(plan::Collective::broadcast, comm, root), data_(data) {}
  std::optional<Passed> judge(const Context& context) override;
  void describe(RecordedKind& kind, const Context& context) const override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  std::optional<Plain> plain(const Context& context) const override;
  void run(const Context& context) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

 private:
  void run_in_pieces(const Context& context, std::size_t piece);

  Blocks data_;
};

/// Base of scatter and gather: the root's blocks of all ranks, and each rank's own block.
class Rooted : public Call {
 public:
  std::optional<Passed> judge(const Context& context) override;
  void describe(RecordedKind& kind, const Context& context) const override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  std::optional<Traffic> traffic_with(int rank, const Context& context) const override;
  std::optional<Plain> plain(const Context& context) const override;
  void keep(Arrays& arrays, const Attached& attached) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

  /// Where the bytes lie of an MPI_Gatherv or MPI_Scatterv that went straight from and to the
  /// program's memory, and of few bytes: behind the addresses of its buffers.
  struct Straight {
    std::ptrdiff_t own = 0;        // of this rank
    std::ptrdiff_t all = 0;        // of all ranks, at the root
    std::ptrdiff_t own_place = 0;  // of this rank among those of all, at the root
  };
  /// After run(). Nullopt: it went in another way.
  std::optional<Straight> straight(const Attached& attached) const;

 protected:
  Rooted(plan::Collective collective, const Blocks& all, const Blocks& own, int root, MPI_Comm comm)
      : Call(collective, comm, root), all_(all), own_(own) {}
  ~Rooted() = default;

  bool at_root(const Context& context) const { return context.rank() == root(); }
  /// The bytes of this rank's block.
  std::size_t own_bytes(const Context& context) const;
  /// See piece_of(); a collective, too.
  std::optional<std::size_t> piece(const Context& context) const;
  /// Of blocks of different sizes: whether this rank packs so much that it does so in pieces. Other
  /// ranks need not know.
  bool packs_in_pieces(const Context& context) const;
  void run_packed(const Context& context);
  /// Whether this is the root and its own block stays in its place among all blocks.
  bool in_place(const Context& context) const { return at_root(context) && own_.is_in_place(); }

  Blocks all_, own_;
};

/// MPI_Scatter and MPI_Scatterv.
class Scatter final : public Rooted {
 public:
  Scatter(const Blocks& send, const Blocks& receive, int root, MPI_Comm comm)
      : Rooted(plan::Collective::scatter, send, receive, root, comm) {}
  void run(const Context& context) override;

 private:
  void run_in_pieces(const Context& context, std::size_t piece);
};

/// MPI_Gather and MPI_Gatherv.
class Gather final : public Rooted {
 public:
  Gather(const Blocks& send, const Blocks& receive, int root, MPI_Comm comm)
      : Rooted(plan::Collective::gather, receive, send, root, comm) {}
  void run(const Context& context) override;

 private:
  void run_in_pieces(const Context& context, std::size_t piece);
};

}  // namespace weft::mpi
