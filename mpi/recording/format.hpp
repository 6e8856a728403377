// Constants of the recording's format, for its writer and its reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::mpi::recording_format {

inline constexpr std::string_view kMagic = "weft recording\n";
inline constexpr std::size_t kMostTexts = 1 << 20;  // bytes of a fact
inline constexpr std::uint64_t kMostFacts = 64;

// Flags of a block, of a communicator, of a kind.
inline constexpr unsigned kIsLast = 1;
inline constexpr unsigned kTwoGroups = 1;
enum KindFlag : unsigned {
  kRequest = 1,
  kServed = 2,
  kIrregular = 4,
  kSized = 8,
  kNeighbours = 16,
  kCommutative = 32,
  kAssociative = 64,
  kAllFlags = 127,
};

}  // namespace weft::mpi::recording_format
