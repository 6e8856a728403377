// Helpers of the tests of costs.
#pragma once

#include <gtest/gtest.h>

#include <bit>

#include "plan/inspect/cost_sheet.hpp"
#include "tests/reduce/support.hpp"

namespace weft::reduce {

using hierarchy::Machine;
using plan::CostSheet;

inline CostSheet sheet_of(Collective collective, std::string_view algorithm, const Machine& machine,
                          std::uint64_t bytes, int root = 0, bool commutative = true) {
  auto problem = problem_of(collective, machine.ranks(), bytes, 8);
  problem.root = root;
  problem.commutative = commutative;
  problem.associative = true;
  return plan::cost_sheet(machine.node_of_rank(),
                          plans_of(Algorithm::parse(collective, algorithm), problem, machine));
}

inline CostSheet flat_sheet(Collective collective, std::string_view algorithm, int p,
                            std::uint64_t bytes, int root = 0, bool commutative = true) {
  return sheet_of(collective, algorithm, Machine::uniform(p, 1), bytes, root, commutative);
}

inline std::uint64_t floor_lg(int p) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(p)) - 1);
}
inline std::uint64_t ceil_lg(int p) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(p - 1)));
}
inline std::uint64_t number(int value) {
  return static_cast<std::uint64_t>(value);
}
inline bool is_power(int p) {
  return std::has_single_bit(static_cast<unsigned>(p));
}

/// A vector that p and 2 p' parts divide.
inline std::uint64_t divisible(int p) {
  const std::uint64_t power = std::bit_floor(static_cast<unsigned>(p));
  return 8 * number(p) * 2 * power;
}

/// The steps of an algorithm, which its longest chain of messages takes for powers of two; else
/// what comes early may shorten it.
inline void expect_steps(const CostSheet& sheet, std::uint64_t steps, bool exactly) {
  EXPECT_LE(sheet.rounds, steps);
  EXPECT_GE(sheet.rounds + (exactly ? 0 : 1), steps);
}

struct Most {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reduced = 0;
};
inline Most most_of(const CostSheet& sheet) {
  Most most;
  for (const plan::Cost& cost : sheet.by_rank) {
    most.messages = std::max(most.messages, cost.messages);
    most.bytes = std::max(most.bytes, cost.wire_bytes);
    most.reduced = std::max(most.reduced, cost.reduced_bytes);
  }
  return most;
}

}  // namespace weft::reduce
