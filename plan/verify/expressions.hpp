// Expressions over inputs: the inputs that reduced bytes combine, their order and their grouping.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::plan {

/// A number for each expression over the inputs of ranks. Equal numbers: the same inputs in the
/// same grouping, so the same bits whatever the operation.
using ExpressionId = std::uint32_t;
inline constexpr ExpressionId kUndefined = UINT32_MAX;

/// A number for each list of contributing ranks.
using OperandsId = std::uint32_t;

/// All expressions so far, each once. When the operation commutes, a op b is b op a.
///
/// Lists are kept as runs of consecutive ranks: algorithms mostly combine neighbours, so a list of
/// hundreds of ranks is mostly one run.
class Expressions {
 public:
  /// Expression r is the input of rank r; its operands are number r too.
  Expressions(int ranks, bool commutative);

  ExpressionId combine(ExpressionId left, ExpressionId right);

  /// The ranks that contribute, from left to right; in any order where the operation commutes.
  OperandsId operands(ExpressionId id) const { return nodes_[id].operands; }
  OperandsId operands_of(std::span<const int> ranks);
  std::vector<int> ranks(OperandsId id) const;

  /// The same for the same grouping of the same ranks in every run of every program.
  std::uint64_t digest(ExpressionId id) const { return nodes_[id].digest; }

 private:
  struct Run {
    int begin;
    int end;
    auto operator<=>(const Run&) const = default;
  };
  using Runs = std::vector<Run>;
  struct Node {
    OperandsId operands;
    std::uint64_t digest;
  };

  OperandsId concatenate(OperandsId left, OperandsId right);
  OperandsId intern(Runs runs);
  Runs merged(const Runs& left, const Runs& right) const;
  static std::vector<int> expanded(const Runs& runs);
  static Runs compressed(std::span<const int> ranks);

  bool commutative_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, ExpressionId> combined_;
  std::vector<Runs> lists_;
  std::map<Runs, OperandsId> ids_;
  std::unordered_map<std::uint64_t, OperandsId> concatenated_;
};

}  // namespace weft::plan
