#include "comm/calls/gate.hpp"

#include "comm/setup/call.hpp"
#include "tune/facts.hpp"

namespace weft::comm {

using plan::Collective;

namespace {

// Mixed into the key of what is prepared, as the call itself comes later.
constexpr std::uint32_t kPreparing = 0x9a7e;

plan::Plan plan_of(const Resources& resources) {
  plan::Problem problem = plan::Problem::alltoall(resources.size(), 0);
  problem.collective = Collective::barrier;
  const auto algorithm = tune::Algorithm::parse(
      Collective::barrier, resources.machine().nodes() == 1 ? "dissemination" : "leader");
  return algorithm.plan(problem, resources.machine(), resources.rank());
}

}  // namespace

Gate::Gate(Resources& resources) : resources_(resources), plan_(plan_of(resources)) {}

void Gate::make() {
  barrier_ = resources_.prepare(plan_);
}

void Gate::pass(const plan::Problem& problem, bool is_irregular) {
  barrier_->call = {problem.collective, problem.root, problem.block_bytes,
                    resources_.executor().poster().algorithm("gate before a new call")};
  resources_.executor().begin_call(call_key(problem, is_irregular) ^ kPreparing);
  resources_.executor().run(*barrier_, {});
  resources_.require_no_failure();
}

}  // namespace weft::comm
