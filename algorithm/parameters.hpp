// Parameters of algorithms, and sets of them: what can be set, and what an algorithm reads.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace weft::algorithm {

struct FlatAlgorithm;
struct InsideStep;

/// The values of all parameters. An algorithm reads some of them (ParameterSet); the others keep
/// their defaults. registry/parameter_table.cpp has their texts and limits.
struct Parameters {
  static constexpr std::uint64_t kEverything = UINT64_MAX;

  int leaders = 1;  ///< ranks of a node that talk to the network; see hierarchy::parse_leaders()
  int cores = 0;    ///< the same where columns of ranks do (sa, rd); 0: all ranks
  bool direct = false;  ///< inside a node, read peers' inputs where they lie instead of staging
  std::uint64_t aggregate = kEverything;   ///< bytes; larger blocks go straight to their ranks
  const FlatAlgorithm* between = nullptr;  ///< schemes: the step between nodes
  const InsideStep* inside = nullptr;      ///< schemes: the step inside nodes
  int radix = 2;              ///< of Bruck, binomial trees and dissemination: 2 or more
  int window = 0;             ///< messages each way under way at once; 0: all
  int arity = 8;              ///< fat-tree: members under a switch, switches under the next
  std::uint64_t segment = 0;  ///< bytes that are passed on while the next come; 0: all at once
  std::uint64_t slot =
      64;  ///< alltoallv by Bruck: bytes of the slot of a block; larger ones go straight
  std::uint64_t latency = 4096;  ///< adaptive: bytes that cross the network while a message starts

  bool operator==(const Parameters&) const = default;
};

enum class Parameter : std::uint8_t {
  leaders,
  cores,
  direct,
  aggregate,
  between,
  inside,
  radix,
  window,
  arity,
  segment,
  slot,
  latency,
};

/// A set of parameters: those that an algorithm reads. When an algorithm is emitted, `between` and
/// `inside` are not null if it reads them.
class ParameterSet {
 public:
  constexpr ParameterSet() = default;
  constexpr ParameterSet(std::initializer_list<Parameter> parameters) {
    for (const Parameter one : parameters) bits_ |= bit(one);
  }

  constexpr bool has(Parameter one) const { return (bits_ & bit(one)) != 0; }
  constexpr ParameterSet operator|(const ParameterSet& other) const {
    ParameterSet both = *this;
    both.bits_ |= other.bits_;
    return both;
  }
  bool operator==(const ParameterSet&) const = default;

 private:
  static constexpr std::uint32_t bit(Parameter one) {
    return std::uint32_t{1} << static_cast<unsigned>(one);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace weft::algorithm
