#include "plan/verify/expressions.hpp"

#include <algorithm>
#include <utility>

namespace weft::plan {

namespace {

std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) {
  return (std::uint64_t{a} << 32) | b;
}

/// The finalizer of splitmix64.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

Expressions::Expressions(int ranks, bool commutative) : commutative_(commutative) {
  for (int rank = 0; rank < ranks; ++rank) {
    nodes_.push_back({intern({{rank, rank + 1}}), mix(static_cast<std::uint64_t>(rank))});
  }
}

ExpressionId Expressions::combine(ExpressionId left, ExpressionId right) {
  std::uint64_t a = nodes_[left].digest;
  std::uint64_t b = nodes_[right].digest;
  if (commutative_) {
    if (left > right) std::swap(left, right);
    if (a > b) std::swap(a, b);
  }
  const auto [entry, added] =
      combined_.try_emplace(pair_of(left, right), static_cast<ExpressionId>(nodes_.size()));
  if (added) {
    nodes_.push_back({concatenate(nodes_[left].operands, nodes_[right].operands),
                      mix(a ^ mix(b ^ mix(UINT64_MAX)))});
  }
  return entry->second;
}

OperandsId Expressions::operands_of(std::span<const int> ranks) {
  if (ranks.size() == 1) return static_cast<OperandsId>(ranks.front());
  std::vector<int> list(ranks.begin(), ranks.end());
  if (commutative_) std::ranges::sort(list);
  return intern(compressed(list));
}

std::vector<int> Expressions::ranks(OperandsId id) const {
  return expanded(lists_[id]);
}

OperandsId Expressions::concatenate(OperandsId left, OperandsId right) {
  const auto key = pair_of(left, right);
  const auto known = concatenated_.find(key);
  if (known != concatenated_.end()) return known->second;
  return concatenated_[key] = intern(merged(lists_[left], lists_[right]));
}

OperandsId Expressions::intern(Runs runs) {
  const auto [entry, added] =
      ids_.try_emplace(std::move(runs), static_cast<OperandsId>(lists_.size()));
  if (added) lists_.push_back(entry->first);
  return entry->second;
}

Expressions::Runs Expressions::merged(const Runs& left, const Runs& right) const {
  Runs all = left;
  all.insert(all.end(), right.begin(), right.end());
  if (commutative_) {
    std::ranges::sort(all);
    const auto overlap = [](const Run& a, const Run& b) { return b.begin < a.end; };
    if (std::ranges::adjacent_find(all, overlap) != all.end()) {  // a rank is there twice
      auto list = expanded(all);
      std::ranges::sort(list);
      return compressed(list);
    }
  }
  Runs joined;
  for (const Run& run : all) {
    if (!joined.empty() && joined.back().end == run.begin) {
      joined.back().end = run.end;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

std::vector<int> Expressions::expanded(const Runs& runs) {
  std::vector<int> list;
  for (const Run& run : runs) {
    for (int rank = run.begin; rank < run.end; ++rank) list.push_back(rank);
  }
  return list;
}

Expressions::Runs Expressions::compressed(std::span<const int> ranks) {
  Runs runs;
  for (const int rank : ranks) {
    if (!runs.empty() && runs.back().end == rank) {
      ++runs.back().end;
    } else {
      runs.push_back({rank, rank + 1});
    }
  }
  return runs;
}

}  // namespace weft::plan
