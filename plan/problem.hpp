// Problem: one call of a collective, with the sizes and places of its blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::plan {

enum class Collective : std::uint8_t {
  alltoall,
  broadcast,
  scatter,
  gather,
  allgather,
  barrier,
  reduce,
  allreduce,
  reduce_scatter,
  scan,
  exscan,
  alltoallv,
};

std::span<const Collective> all_collectives();
std::string_view to_string(Collective collective);
/// UsageError lists the names of all collectives.
Collective parse_collective(std::string_view text);

/// True when an operation combines the inputs.
bool is_reduction(Collective collective);
/// True when one rank, the root, has a part of its own.
bool is_rooted(Collective collective);
/// True when some rank may be done with its part before others have begun theirs, whatever the
/// sizes: a root that sends, a rank that sends to a root.
bool may_be_left_early(Collective collective);
/// True when each rank has a block for each rank.
bool is_alltoall(Collective collective);
/// True when the input or the output of some rank has a block of each rank.
bool has_blocks_of_all(Collective collective);

/// A block of a buffer of blocks, in bytes.
struct Block {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Block&) const = default;
};

/// In which order ranks should leave a barrier, if they do not leave it at the same time.
enum class Leaving : std::uint8_t { any, root_first, root_last };

/// The arguments of a collective, the same on every rank.
///
///                   input                          output
///   alltoall        blocks of all: all             blocks of all: all
///   broadcast       one block: the root            one block: all but the root
///   scatter         blocks of all: the root        own block: all
///   gather          own block: all                 blocks of all: the root
///   allgather       own block: all                 blocks of all: all
///   barrier         -                              -
///   reduce          one block: all                 one block: the root
///   allreduce       one block: all                 one block: all
///   reduce_scatter  blocks of all: all             own block, reduced: all
///   scan, exscan    one block: all                 one block: all (exscan: but rank 0)
///   alltoallv       one block to each: all         one block from each: all
///
/// "Blocks of all" lie where block(rank) says: `block_bytes` at rank * `stride`, or as `layout`
/// says where that is not empty (the irregular forms: v, w and reduce_scatter with counts). A
/// stride above block_bytes lets a large call run in slices of its blocks; bytes between the blocks
/// are never touched. A single block begins at 0 of its buffer. A barrier has no data: no rank
/// leaves before all have entered; its messages carry a byte of scratch without meaning.
///
/// An alltoallv has a block for each pair of ranks, where `sends` and `receives` say; an alltoallw
/// becomes one too, as its types are packed or are blocks of bytes. Blocks to send may overlap,
/// blocks to receive may not. Both ends give the size of a pair's block and must agree. While plans
/// are made, rows that a rank does not need may be empty (see hierarchy::LocalBlocks); the verifier
/// needs all of them.
///
/// In place (alltoall, alltoallv) there is no input: the block for a peer lies where the block from
/// that peer is received, so both have the same size, and `sends` is empty.
struct Problem {
  Collective collective = Collective::alltoall;
  int ranks = 1;
  std::uint64_t block_bytes = 0;
  std::uint64_t stride = 0;         // >= block_bytes
  int root = 0;                     // rooted collectives, and barriers that are led by one rank
  std::uint64_t element_bytes = 1;  // reductions: all blocks are whole elements, cut between them
  bool commutative = true;          // reductions: a op b is b op a
  bool associative = false;  // reductions: to the bit, as integers and minima; not floating point
  std::vector<Block> layout = {};  // one a rank, without overlap, in any order; not for alltoall
  std::vector<std::vector<Block>> sends = {};     // alltoallv: by rank, to each rank
  std::vector<std::vector<Block>> receives = {};  // alltoallv: by rank, from each rank
  bool in_place = false;
  Leaving leaving = Leaving::any;  // barriers
  /// Vectors are cut at multiples of so many bytes, a multiple of their elements; 0: of one
  /// element. The last of the pieces may be shorter (plan/family.hpp).
  std::uint64_t cut_bytes = 0;

  std::uint64_t grain() const { return cut_bytes == 0 ? element_bytes : cut_bytes; }

  static Problem alltoall(int ranks, std::uint64_t block_bytes) {
    return {Collective::alltoall, ranks, block_bytes, block_bytes};
  }

  /// The block of `rank` among blocks of all.
  Block block(int rank) const {
    if (!layout.empty()) return layout[static_cast<std::size_t>(rank)];
    return {static_cast<std::uint64_t>(rank) * stride, block_bytes};
  }

  /// The block that `from` has for `to` in an alltoall or alltoallv: in its input, or in place in
  /// its output.
  Block sent(int from, int to) const {
    if (collective != Collective::alltoallv) return block(to);
    const auto& rows = in_place ? receives : sends;
    return rows[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// The place of that block in the output of `to`.
  Block received(int to, int from) const {
    if (collective != Collective::alltoallv) return block(from);
    return receives[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
  }

  /// Bytes that the caller's buffers must have on `rank`.
  std::uint64_t input_bytes(int rank) const;
  std::uint64_t output_bytes(int rank) const;

  bool operator==(const Problem&) const = default;

 private:
  std::uint64_t blocks_end() const;
};

/// One past the last byte of any of `blocks`.
std::uint64_t end_of(std::span<const Block> blocks);

}  // namespace weft::plan
