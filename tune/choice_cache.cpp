#include "tune/choice_cache.hpp"

#include "tune/candidates.hpp"
#include "tune/decision_table.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

namespace {

// Caches that are kept after the last communicator that used them is gone.
constexpr std::size_t kMostCaches = 64;

}  // namespace

std::optional<Algorithm> ChoiceCache::choose(const plan::Problem& problem) {
  // No rank knows all counts of an alltoallv; its algorithm is chosen once, for all sizes.
  if (problem.collective == plan::Collective::alltoallv) return std::nullopt;
  const bool sized = problem.collective != plan::Collective::barrier;
  const std::uint64_t bytes = sized ? grid_bytes(block_bytes(problem)) : 0;
  const Key key{problem.collective, bytes, problem.element_bytes,
                problem.commutative * 2 + problem.associative};
  const Facts facts = basis_.facts();
  const std::lock_guard lock(mutex_);
  auto [found, is_new] = known_.try_emplace(key);
  if (is_new) {
    plan::Problem like = resized(problem, bytes);
    like.root = 0;
    for (const Prediction& one :
         tune::choose(like, facts, basis_.hardware, {.most_ops = kMostOps})) {
      found->second.push_back(one.algorithm);
    }
  }
  for (const Algorithm& algorithm : found->second) {
    if (may_run(algorithm, problem, facts)) return algorithm;
  }
  return std::nullopt;
}

SlotChoice ChoiceCache::slots(const Algorithm& base) {
  const std::lock_guard lock(mutex_);
  auto [found, is_new] = slots_.try_emplace(base.name());
  if (is_new) found->second = SlotChoice::simulate(base, basis_.facts(), basis_.hardware);
  return found->second;
}

std::shared_ptr<ChoiceCache> shared_choices(const std::string& text,
                                            const std::function<Basis()>& make) {
  static std::mutex mutex;
  // Never destroyed: programs end in any order.
  static auto& known = *new std::map<std::string, std::shared_ptr<ChoiceCache>>;
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostCaches && !known.contains(text)) known.clear();
  auto& cache = known[text];
  if (cache == nullptr) cache = std::make_shared<ChoiceCache>(make());
  return cache;
}

}  // namespace weft::tune
