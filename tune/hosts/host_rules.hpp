// Host rules: what was found for an MPI's own collectives, and the collectives that a file for it
// can have rules for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.hpp"

namespace weft::tune {

/// For calls of up to so many bytes; the last rule of a collective is for any number.
struct HostRule {
  static constexpr std::uint64_t kAnyBytes = ~std::uint64_t{0};

  std::uint64_t up_to_bytes = kAnyBytes;  ///< of a block, or of the vector
  std::string algorithm;                  ///< as the MPI names it; empty: by the MPI's own rules
  int number = 0;                         ///< its place in HostJob::algorithms()
  std::uint64_t segment = 0;

  bool operator==(const HostRule&) const = default;
};

struct HostRules {
  plan::Collective collective = plan::Collective::broadcast;
  std::vector<HostRule> rules;  ///< ascending
};

/// As MPI names it: "bcast"; of reduce_scatter "reduce_scatter_block", whose blocks are alike.
std::string_view mpi_name(plan::Collective collective);

}  // namespace weft::tune
