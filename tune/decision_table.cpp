#include "tune/decision_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "tune/candidates.hpp"

namespace weft::tune {

void DecisionTable::set(plan::Collective collective, std::vector<Rule> rules) {
  rules_[static_cast<std::size_t>(collective)] = std::move(rules);
}

void DecisionTable::merge(const DecisionTable& other) {
  if (other.machine != machine || other.adapter != adapter) {
    throw_usage("a table for {} with {} cannot be merged into one for {} with {}", other.machine,
                other.adapter, machine, adapter);
  }
  for (const plan::Collective one : plan::all_collectives()) {
    if (!other.rules(one).empty()) set(one, other.rules(one));
  }
  date = std::max(date, other.date);
}

const Rule* DecisionTable::find(plan::Collective collective, std::uint64_t bytes) const noexcept {
  const std::vector<Rule>& rules = this->rules(collective);
  const auto found = std::ranges::lower_bound(rules, bytes, {}, &Rule::up_to_bytes);
  return found == rules.end() ? nullptr : &*found;
}

std::uint64_t grid_end(std::uint64_t grid) noexcept {
  if (grid >= kLargestGridBytes) return Rule::kAnyBytes;
  // Half-way to the next on a logarithmic scale.
  return static_cast<std::uint64_t>(static_cast<double>(grid) * std::sqrt(2.0));
}

std::uint64_t grid_bytes(std::uint64_t bytes) noexcept {
  if (bytes >= kLargestGridBytes) return kLargestGridBytes;
  const std::uint64_t below = std::bit_floor(std::max<std::uint64_t>(bytes, 1));
  return bytes <= grid_end(below) ? below : 2 * below;
}

plan::Problem resized(const plan::Problem& like, std::uint64_t bytes) {
  plan::Problem problem = like;
  const std::uint64_t element = std::max<std::uint64_t>(problem.element_bytes, 1);
  problem.block_bytes = (bytes + element - 1) / element * element;
  problem.stride = problem.block_bytes;
  problem.layout.clear();
  return problem;
}

std::vector<Rule> tabulate(const plan::Problem& like, const Facts& facts,
                           const sim::Hardware& hardware, const ChoiceOptions& options,
                           const std::function<void(int done, int total)>& progress) {
  const bool sized = like.collective != plan::Collective::barrier;
  const int sizes = sized ? static_cast<int>(std::bit_width(kLargestGridBytes)) : 1;
  std::vector<Rule> rules;
  for (int i = 0; i < sizes; ++i) {
    if (progress) progress(i, sizes);
    const std::uint64_t bytes = sized ? std::uint64_t{1} << i : kLargestGridBytes;
    const plan::Problem problem = resized(like, sized ? bytes : 0);
    std::string name = choose(problem, facts, hardware, options).front().algorithm.name();
    if (!rules.empty() && rules.back().algorithm == name) {
      rules.back().up_to_bytes = grid_end(bytes);
    } else {
      rules.push_back({grid_end(bytes), std::move(name)});
    }
  }
  return rules;
}

}  // namespace weft::tune
