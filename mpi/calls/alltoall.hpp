// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw over weft.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "mpi/calls/blocks.hpp"
#include "mpi/calls/call.hpp"
#include "mpi/calls/typed_blocks.hpp"

namespace weft::mpi {

class Alltoall final : public Call {
 public:
  Alltoall(const Blocks& send, const Blocks& receive, MPI_Comm comm)
      : Call(plan::Collective::alltoall, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  std::optional<Plain> plain(const Context& context) const override;
  bool copy_alone(const Context& context) override;
  void run(const Context& context) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

 private:
  void run_in_pieces(const Context& context, std::size_t piece);

  Blocks send_, receive_;
};

/// Run by weft for all sizes: a rank does not know the sizes of other ranks, so the decision must
/// not depend on them.
class Alltoallv final : public Call {
 public:
  Alltoallv(const Blocks& send, const Blocks& receive, MPI_Comm comm)
      : Call(plan::Collective::alltoallv, comm), send_(send), receive_(receive) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  void describe(RecordedKind& kind, const Context&) const override { describe_irregular(kind); }
  std::optional<std::uint64_t> sent_bytes() const override;
  std::optional<Traffic> traffic_with(int rank, const Context& context) const override;
  void run(const Context& context) override;
  void keep(Arrays& arrays, const Attached& attached) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

  /// Where blocks lie of a call that went straight from and to two buffers of the program, and of
  /// few bytes, in bytes from `*_offset` bytes behind the buffers' addresses on.
  struct Straight {
    std::span<const Part> sends, receives;
    std::ptrdiff_t input_offset = 0, output_offset = 0;
  };
  /// After run(). Nullopt: it went in another way.
  std::optional<Straight> straight() const;

 private:
  const Blocks& sends() const { return send_.is_in_place() ? receive_ : send_; }

  Blocks send_, receive_;
};

class Alltoallw final : public Call {
 public:
  Alltoallw(TypedBlocks&& send, TypedBlocks&& receive, MPI_Comm comm)
      : Call(plan::Collective::alltoallv, comm),
        send_(std::move(send)),
        receive_(std::move(receive)) {}
  std::optional<Passed> judge(const Context& context) override;
  std::optional<std::uint64_t> block_bytes(const Context& context) const override;
  void describe(RecordedKind& kind, const Context&) const override { describe_irregular(kind); }
  std::optional<std::uint64_t> sent_bytes() const override;
  std::optional<Traffic> traffic_with(int rank, const Context& context) const override;
  bool copy_alone(const Context& context) override;
  void run(const Context& context) override;
  void keep(Arrays& arrays, const Attached& attached) override;
  void add_handles(Handles& handles, const Attached& attached) const override;

  struct Placed {
    PlacedBlocks sends, receives;
  };
  /// After run(), which was the last one: where the blocks lie of a call in shared memory that went
  /// straight from and to two buffers of the program. Nullopt: it went in another way.
  std::optional<Placed> take_placed();

 private:
  bool goes_in_parts(const Context& context) const;
  void run_in_parts(const Context& context);
  const TypedBlocks& sends() const { return send_.is_in_place() ? receive_ : send_; }

  TypedBlocks send_, receive_;
  bool went_straight_ = false;
};

}  // namespace weft::mpi
