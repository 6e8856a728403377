#include "comm/irregular/rooted_exchange.hpp"

#include <vector>

#include "tune/facts.hpp"

namespace weft::comm {

RootedExchange::RootedExchange(Resources& resources, int root, std::size_t entry)
    : resources_(resources), entry_(entry) {
  std::vector<int> peers;
  for (int rank = 0; rank < resources.size(); ++rank) {
    const bool includes_root = resources.rank() == root || rank == root;
    if (rank != resources.rank() && includes_root) peers.push_back(rank);
  }
  resources.connect(peers);
}

const std::shared_ptr<Call>& RootedExchange::call_for(const plan::Problem& problem) {
  if (last_ != nullptr && last_->problem == problem) return last_;
  auto call = std::make_shared<Call>();
  call->problem = problem;
  call->key = call_key(problem, true);
  call->entry = entry_;
  call->input_bytes = problem.input_bytes(resources_.rank());
  const auto algorithm = tune::Algorithm::parse(problem.collective, kAlgorithm);
  call->slice =
      resources_.prepare(algorithm.plan(problem, resources_.machine(), resources_.rank()));
  call->slice->call = {problem.collective, problem.root, problem.block(resources_.rank()).bytes};
  last_ = std::move(call);
  return last_;
}

}  // namespace weft::comm
