#include "mpi/calls/pieces.hpp"

namespace weft::mpi {

namespace {

constexpr std::size_t kPiece = 4 << 20;  // of all blocks together

enum Wish : int { kNone, kPieces, kWhole };  // the largest of all ranks counts

}  // namespace

std::optional<std::size_t> piece_of(const Context& context, std::size_t block_bytes, int blocks,
                                    std::initializer_list<const Blocks*> used) {
  const auto count = static_cast<std::size_t>(blocks);
  if (block_bytes * count <= kPiece) return std::nullopt;
  int mine = kNone;
  for (const Blocks* one : used) {
    if (one->is_packed()) mine = std::max<int>(mine, one->can_be_cut() ? kPieces : kWhole);
  }
  const Resolution* largest =
      context.world.operations().resolve(MPI_MAX, MPI_INT, context.attached.operations);
  if (largest == nullptr) throw Error("the host refuses MPI_MAX of MPI_INT");
  int all = mine;
  context.weft().allreduce(&mine, &all, 1, largest->operation);
  if (all != kPieces) return std::nullopt;
  return std::max<std::size_t>(kPiece / count, 1);
}

}  // namespace weft::mpi
