#include "comm/irregular/rooted_exchange.hpp"

#include <algorithm>
#include <vector>

#include "tune/facts.hpp"

namespace weft::comm {

using plan::Block;
using plan::Collective;
using plan::OpKind;
using plan::Problem;

RootedExchange::RootedExchange(Resources& resources, int root)
    : resources_(resources), root_(root) {
  std::vector<int> peers;
  for (int rank = 0; rank < resources.size(); ++rank) {
    const bool includes_root = resources.rank() == root || rank == root;
    if (rank != resources.rank() && includes_root) peers.push_back(rank);
  }
  resources.connect(peers);
}

/// Whether the last program does the same with blocks of other sizes: one message, or copy, for
/// each block that has bytes.
bool RootedExchange::has_last_for(const Problem& problem) const {
  if (last_ == nullptr || last_.use_count() > 1) return false;
  const auto is_there = [](const Block& block) { return block.bytes != 0; };
  return std::ranges::equal(last_->problem.layout, problem.layout, {}, is_there, is_there);
}

void RootedExchange::describe(const Problem& problem, Call& call) const {
  call.problem = problem;
  call.key = call_key(problem, true);
  call.entry = kNoEntry;
  call.is_plain = call.is_of_class = true;
  call.input_bytes = problem.input_bytes(resources_.rank());
}

/// Writes the blocks of the call's problem into its program, which has the same steps with them.
void RootedExchange::renumber(Call& call) const {
  const int self = resources_.rank();
  const Problem& problem = call.problem;
  engine::Prepared& prepared = *call.slice;
  engine::Program& program = prepared.program;
  const bool gathers = problem.collective == Collective::gather;
  for (std::uint32_t id = 0; id < program.steps().size(); ++id) {
    const engine::Step& step = program.steps()[id];
    const bool is_message = step.kind == OpKind::send || step.kind == OpKind::recv;
    const int other = is_message && self == root_ ? prepared.ranks[step.peer] : self;
    const Block block = problem.block(other);
    // The root has the blocks of all; everybody else, and the other side of its copy, one block.
    const auto offset = [&](bool is_source) {
      return self == root_ && is_source != gathers ? block.offset : 0;
    };
    if (step.kind != OpKind::recv) program.move(id, true, offset(true), block.bytes);
    if (step.kind != OpKind::send) program.move(id, false, offset(false), block.bytes);
  }
  program.set_buffer_bytes(problem.input_bytes(self), problem.output_bytes(self));
  resources_.executor().renumbered(prepared, /*same_steps=*/true);
}

const std::shared_ptr<Call>& RootedExchange::call_for(const Problem& problem) {
  if (last_ != nullptr && last_->problem == problem) return last_;
  if (has_last_for(problem)) {
    describe(problem, *last_);
    renumber(*last_);
  } else {
    auto call = std::make_shared<Call>();
    describe(problem, *call);
    const auto algorithm = tune::Algorithm::parse(problem.collective, kAlgorithm);
    call->slice =
        resources_.prepare(algorithm.plan(problem, resources_.machine(), resources_.rank()));
    last_ = std::move(call);
  }
  last_->slice->call = {problem.collective, root_, problem.block(resources_.rank()).bytes,
                        resources_.executor().poster().algorithm(kAlgorithm)};
  return last_;
}

bool is_cut(const Problem& problem) {
  return std::ranges::any_of(
      problem.layout, [](const Block& block) { return block.bytes > RootedExchange::kPieceBytes; });
}

}  // namespace weft::comm
