// Size class: problems that differ in the size of their blocks only, between two bounds. The first
// call of a class is agreed upon, for all of its sizes; later ones are prepared by each rank alone.
//
// A *bucket* holds the sizes above one power of two up to the next. What is agreed for its largest
// size (stages, channels, whether peers' buffers are read) serves all of them: no algorithm needs
// more for less (tests/comm/size_class_test.cpp). Scratch memory is provided for the largest size,
// too; the few algorithms that need more for a smaller one grow it on their own. Algorithms are
// chosen at powers of two and half-way between them (tune::grid_end()), so a bucket has three
// *parts*, each with one choice; parts with one algorithm share a class. Calls that are too large
// for stages and scratch memory, and so are cut, are classes of their own, and so are those whose
// blocks differ.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>

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
  std::uint64_t most_bytes = 0;  // of a block

  auto operator<=>(const Bucket&) const = default;
};

inline constexpr std::size_t kParts = 3;

/// Of a problem without a layout, with blocks of at least one byte; or a barrier.
Bucket bucket_of(const plan::Problem& problem);
/// The part of its bucket, below kParts.
std::size_t part_of(const plan::Problem& problem);
/// The largest problem of the bucket, which is made of whole elements.
plan::Problem largest_of_bucket(const plan::Problem& problem);

/// Whether what the algorithm needs for a size serves all smaller ones. Not where it takes another
/// tree for another size, with other peers: there each size is a class.
bool serves_smaller(const registry::Algorithm& algorithm);

/// What all ranks have agreed for a class.
struct SizeClass {
  registry::Algorithm algorithm;
  std::uint64_t most_bytes = 0;   // of a block
  std::uint64_t slice_bytes = 0;  // of a block, in all runs but the last
  bool reads_peers = false;       // some rank may: others' buffers where they lie
  std::size_t entry = 0;          // in the statistics
};

using SharedClass = std::shared_ptr<const SizeClass>;
/// The classes of a bucket; null where no call of the part has come.
using BucketClasses = std::array<SharedClass, kParts>;

}  // namespace weft::comm
