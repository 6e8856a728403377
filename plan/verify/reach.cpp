#include "plan/verify/reach.hpp"

#include <algorithm>

namespace weft::plan {

void OrderQueries::add(OpId before, OpId behind) {
  if (before != behind && ops_.rank(before) == ops_.rank(behind)) {
    const auto after = ops_.after(behind);
    if (std::ranges::binary_search(after, ops_.id(before))) return;
  }
  const Pair pair{behind, before};
  if (pairs_.empty() || pairs_.back() != pair) pairs_.push_back(pair);
}

void OrderQueries::for_each_unordered(const std::function<bool(OpId before, OpId behind)>& visit) {
  std::ranges::sort(pairs_);
  pairs_.erase(std::ranges::unique(pairs_).begin(), pairs_.end());
  seen_.assign(graph_.size(), 0);
  wanted_.assign(ops_.size(), 0);
  for (std::size_t i = 0; i < pairs_.size();) {
    std::size_t end = i;
    while (end < pairs_.size() && pairs_[end].behind == pairs_[i].behind) ++end;
    search(std::span(pairs_).subspan(i, end - i));
    for (; i < end; ++i) {
      if (seen_[completion_of(pairs_[i].before)] == search_) continue;
      if (!visit(pairs_[i].before, pairs_[i].behind)) return;
    }
  }
}

void OrderQueries::search(std::span<const Pair> group) {
  ++search_;
  std::uint32_t top = graph_.size();
  for (const Pair& pair : group) {
    top = std::min(top, graph_.position(completion_of(pair.before)));
    wanted_[pair.before] = search_;
  }
  std::size_t missing = group.size();
  stack_.assign(1, start_of(group.front().behind));
  while (!stack_.empty() && missing > 0) {
    const Event event = stack_.back();
    stack_.pop_back();
    for (const Event before : graph_.predecessors(event)) {
      if (seen_[before] == search_ || graph_.position(before) < top) continue;
      seen_[before] = search_;
      stack_.push_back(before);
      if (!is_start(before) && wanted_[op_of(before)] == search_) --missing;
    }
  }
}

template <class Next>
bool Visits::reaches(Event from, int rank, Next next_of) {
  seen_.resize(graph_.size());
  ++search_;
  queue_.assign(1, from);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    for (const Event next : next_of(queue_[i])) {
      if (seen_[next] == search_) continue;
      if (ops_.rank(op_of(next)) == rank) return true;
      seen_[next] = search_;
      queue_.push_back(next);
    }
  }
  return false;
}

bool Visits::follows_any_of(OpId op, int rank) {
  return reaches(start_of(op), rank, [&](Event event) { return graph_.predecessors(event); });
}

bool Visits::precedes_any_of(OpId op, int rank) {
  if (successors_begin_.empty()) link_successors();
  return reaches(completion_of(op), rank, [&](Event event) {
    return std::span(successors_)
        .subspan(successors_begin_[event], successors_begin_[event + 1] - successors_begin_[event]);
  });
}

void Visits::link_successors() {
  // The counts, moved up by two, become begins moved up by one, and those move as edges are put in.
  successors_begin_.assign(graph_.size() + 2, 0);
  for (Event event = 0; event < graph_.size(); ++event) {
    for (const Event before : graph_.predecessors(event)) ++successors_begin_[before + 2];
  }
  for (std::size_t i = 1; i < successors_begin_.size(); ++i) {
    successors_begin_[i] += successors_begin_[i - 1];
  }
  successors_.resize(successors_begin_.back());
  for (Event event = 0; event < graph_.size(); ++event) {
    for (const Event before : graph_.predecessors(event)) {
      successors_[successors_begin_[before + 1]++] = event;
    }
  }
}

}  // namespace weft::plan
