#include "comm/calls/calls.hpp"

#include <fmt/format.h>

namespace weft::comm {

using plan::Collective;
using plan::Problem;

const SharedCall& Calls::call_for(const Task& task) {
  if (task.irregular) return rooted_call_for(task.problem);
  if (task.problem.collective == Collective::alltoallv) return vector_call_for(task);
  if (last_ != nullptr && (*last_)->problem == task.problem) return *last_;
  return block_call_for(task.problem);
}

const SharedCall& Calls::block_call_for(const Problem& problem) {
  for (CallCache* cache : {&of_classes_, &agreed_}) {
    if (const SharedCall* known = cache->find(problem)) return *(last_ = known);
  }
  last_ = nullptr;
  SharedCall made = preparation_.prepare(problem);
  if (generation_ != preparation_.generation()) {
    // Their classes are forgotten, and each rank has kept others.
    of_classes_.clear();
    generation_ = preparation_.generation();
  }
  const std::size_t steps = made->slice->program.steps().size();
  CallCache& cache = made->is_of_class ? of_classes_ : agreed_;
  last_ = &cache.keep(std::move(made), &cache == &agreed_ ? 1 : 1 + steps);
  return *last_;
}

const SharedCall& Calls::rooted_call_for(const Problem& problem) {
  resources_.members().require_no_poison();
  const std::pair key{problem.collective, problem.root};
  auto found = rooted_.find(key);
  if (found == rooted_.end()) {
    const char* algorithm = RootedExchange::kAlgorithm;
    choice_.note_other_than(
        algorithm, problem.collective,
        fmt::format("{} of blocks of different sizes", to_string(problem.collective)),
        "only the root knows all sizes, so it exchanges with each rank directly");
    const std::size_t entry = usage_.entry_for(problem.collective, algorithm);
    preparation_.meet(problem);
    found = rooted_.try_emplace(key, resources_, problem.root, entry).first;
  }
  return found->second.call_for(problem);
}

const SharedCall& Calls::vector_call_for(const Task& task) {
  resources_.members().require_no_poison();
  if (vector_ == nullptr) {
    preparation_.meet(task.problem);
    choice_.note_passed_over(task.problem);
    const auto asked = choice_.algorithm_for(task.problem);
    vector_ = std::make_unique<VectorExchange>(resources_, asked);
    vector_entry_ = usage_.entry_for(Collective::alltoallv, vector_->algorithm());
  }
  return vector_->call_for(task, vector_entry_);
}

}  // namespace weft::comm
