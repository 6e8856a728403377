#include "tune/chooser.hpp"

#include "tune/candidates.hpp"
#include "tune/choice.hpp"
#include "tune/decision_table.hpp"

namespace weft::tune {

namespace {

// Shapes that are remembered after the last communicator of one is gone.
constexpr std::size_t kMostShapes = 64;

}  // namespace

std::optional<Algorithm> Chooser::choose(const plan::Problem& problem) {
  // No rank knows all of its counts, and what holds its stages is chosen once for all sizes.
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
    for (Prediction& one : tune::choose(like, facts, basis_.hardware, {.most_ops = kMostOps})) {
      found->second.push_back(std::move(one.algorithm));
    }
  }
  for (const Algorithm& algorithm : found->second) {
    if (may_run(algorithm, problem, facts)) return algorithm;
  }
  return std::nullopt;
}

std::shared_ptr<Chooser> shared_chooser(const std::string& text, const Basis& basis) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Chooser>> known;
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostShapes && !known.contains(text)) known.clear();
  auto& chooser = known[text];
  if (chooser == nullptr) chooser = std::make_shared<Chooser>(basis);
  return chooser;
}

}  // namespace weft::tune
