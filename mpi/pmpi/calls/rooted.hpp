// The collectives that move data from or to one rank. What only the root's arguments say is the
// root's business alone: no other rank looks at them, and no decision follows from them.
#pragma once

#include "mpi/pmpi/calls/blocks.hpp"
#include "mpi/pmpi/calls/call.hpp"

namespace weft::pmpi {

class Broadcast final : public Call {
 public:
  Broadcast(const Blocks& data, int root, MPI_Comm comm)
      : Call(plan::Collective::broadcast, comm), data_(data), root_(root) {}
  std::optional<Passed> judge(const Context& context) override;
  void run(const Context& context) override;

 private:
  Blocks data_;
  int root_;
};

/// What scatter and gather share: the root's blocks for all, and everyone's own block.
class Rooted : public Call {
 public:
  std::optional<Passed> judge(const Context& context) override;

 protected:
  Rooted(plan::Collective collective, const Blocks& all, const Blocks& own, int root, MPI_Comm comm)
      : Call(collective, comm), all_(all), own_(own), root_(root) {}
  ~Rooted() = default;

  bool at_root(const Context& context) const { return context.rank() == root_; }
  /// The bytes of this rank's block.
  std::size_t own_bytes(const Context& context) const;
  /// Of the root: its own block stays where it is among all. True on no other rank.
  bool in_place(const Context& context) const { return at_root(context) && own_.is_in_place(); }

  Blocks all_, own_;
  int root_;
};

/// MPI_Scatter and MPI_Scatterv.
class Scatter final : public Rooted {
 public:
  Scatter(const Blocks& send, const Blocks& receive, int root, MPI_Comm comm)
      : Rooted(plan::Collective::scatter, send, receive, root, comm) {}
  void run(const Context& context) override;
};

/// MPI_Gather and MPI_Gatherv.
class Gather final : public Rooted {
 public:
  Gather(const Blocks& send, const Blocks& receive, int root, MPI_Comm comm)
      : Rooted(plan::Collective::gather, receive, send, root, comm) {}
  void run(const Context& context) override;
};

}  // namespace weft::pmpi
