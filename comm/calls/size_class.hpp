// Size class: problems that differ in the size of their blocks only, between two bounds. The first
// call of a class is agreed upon, for all of its sizes; later ones concern each rank alone.
//
// A *bucket* holds the sizes above one power of two up to the next. What is agreed for its largest
// size (stages, channels, whether peers' buffers are read) serves all of them. Algorithms are
// chosen at powers of two and half-way between them (tune::grid_end()), so a bucket has three
// *parts*, each with one choice; parts with one algorithm share a class. The rules of a decision
// table may end anywhere: under one a bucket has five parts, at quarters of the way by ratio, and
// the first call of a part chooses for all of it.
//
// Where the plans of all ranks have a shape (comm/setup/shapes.hpp), all sizes have that of the
// largest, and a new size is other numbers in a program that is there. Where they have none, and
// for sizes so small that units would be empty, each size has a plan of its own, of an algorithm
// that needs no more for less (tests/comm/calls/size_class_test.cpp); scratch memory is provided
// for the largest size, and the few plans that need more for a smaller one grow it. The same goes
// for calls that are too large for stages and scratch memory, and so are cut: in slices that are
// those of the largest size.
//
// Calls whose blocks differ, which all ranks know, are of the class of their largest block and
// their mean: they need no more than blocks that are all as large. Where the plans of all ranks
// have a layout family (plan/layout_family.hpp), another list of sizes is other numbers, too; else,
// and where blocks do not lie side by side, a list has a plan of its own. Only where blocks that
// are all as large would have to be cut, each such call is agreed upon.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "comm/calls/call_cache.hpp"
#include "comm/setup/shapes.hpp"
#include "engine/program/layout_program.hpp"
#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::comm {

struct Bucket {
  plan::Collective collective = plan::Collective::barrier;
  int root = 0;
  std::uint64_t element_bytes = 1;
  bool commutative = true;
  bool associative = false;
  bool in_place = false;
  plan::Leaving leaving = plan::Leaving::any;
  std::uint64_t most_bytes = 0;   // of a block
  std::uint64_t usual_bytes = 0;  // where blocks differ: of their mean, as choices take it

  bool operator==(const Bucket&) const = default;
};

struct BucketHash {
  std::size_t operator()(const Bucket& bucket) const noexcept;
};

inline constexpr std::size_t kParts = 5;

/// Of a problem's blocks.
struct BlockSizes {
  std::uint64_t most = 0;
  std::uint64_t mean = 0;
};
BlockSizes block_sizes(const plan::Problem& problem);

/// Of a problem of which some block has at least one byte; or a barrier.
Bucket bucket_of(const plan::Problem& problem, const BlockSizes& sizes);
inline Bucket bucket_of(const plan::Problem& problem) {
  return bucket_of(problem, block_sizes(problem));
}
/// The part of its bucket, below kParts. `has_table`: whether a table decides.
std::size_t part_of(const plan::Problem& problem, bool has_table);
/// The largest problem of the bucket, which is made of whole elements; without a layout.
plan::Problem largest_of_bucket(const plan::Problem& problem);
/// The same as a list, side by side, of blocks that are all as large.
plan::Problem largest_list(const plan::Problem& largest);

/// Whether what the algorithm needs for a size serves all smaller ones. Not where it takes another
/// tree for another size, with other peers: there each size is a class.
bool serves_smaller(const registry::Algorithm& algorithm);

/// A program for some sizes of a class, and a call of it with the numbers of its last size. Others
/// may hold the call: then it stays as it is, and the next size gets another one.
struct SizedCall {
  SharedProgram program;
  SharedCall call;
};

/// What all ranks have agreed for a class, and this rank's programs.
struct SizeClass {
  registry::Algorithm algorithm;
  std::string name;                   // the algorithm's
  std::uint64_t most_bytes = 0;       // of a block
  std::uint64_t slice_bytes = 0;      // of a block, in all runs but the last
  bool reads_peers = false;           // some rank may: others' buffers where they lie
  std::size_t entry = 0;              // in the statistics, for blocks
  std::uint64_t entry_bytes = 0;      // whose mean is up to this power of two
  std::uint16_t posted = 0;           // the algorithm's name, in the rank's posting
  std::shared_ptr<Shape> shape = {};  // null: there is none
  std::uint64_t times = 1;            // units are so many of the shape's
  std::list<SizedCall> calls = {};
  std::unique_ptr<engine::LayoutProgram> lists = nullptr;  // of blocks that differ, if any
  SharedCall list_call = nullptr;                          // with the last list's numbers, if any

  /// nullopt: a problem of this size has a plan of its own.
  std::optional<plan::Extent> extent_of(const plan::Problem& problem) const;
  /// Whether its program for lists is for the problem's, too.
  bool has_list(const plan::Problem& problem) const;
  /// Whether what is agreed serves a problem of its sizes.
  bool takes(const plan::Problem& problem) const {
    if (!problem.layout.empty() && slice_bytes != most_bytes) return false;  // it cannot be cut
    return serves_smaller(algorithm) || extent_of(problem);
  }
};

using SharedClass = std::shared_ptr<SizeClass>;
/// The classes of a bucket; null where no call of the part has come.
using BucketClasses = std::array<SharedClass, kParts>;

}  // namespace weft::comm
