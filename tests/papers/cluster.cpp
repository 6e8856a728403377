#include "tests/papers/cluster.hpp"

#include <vector>

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "nic_profiles/profile.hpp"
#include "plan/builder.hpp"
#include "reduce/registry.hpp"
#include "sim/simulator.hpp"

namespace weft::papers {

using hierarchy::Machine;
using plan::Collective;
using plan::OpId;

namespace {

sim::PlanSource plans_of(Collective collective, const std::string& name,
                         const plan::Problem& problem, const Machine& machine) {
  const auto make = [&](const auto& algorithm) -> sim::PlanSource {
    return
        [algorithm, problem, &machine](int rank) { return algorithm.plan(problem, machine, rank); };
  };
  if (is_alltoall(collective)) return make(alltoall::Algorithm::parse(name));
  if (is_reduction(collective)) return make(reduce::Algorithm::parse(collective, name));
  return make(gather::Algorithm::parse(collective, name));
}

bool is_remote(const plan::Op& op, const Machine& machine, int rank) {
  const bool message = op.kind == plan::OpKind::send || op.kind == plan::OpKind::recv;
  return message && !machine.same_node(op.peer, rank);
}

OpId add(plan::Builder& builder, const plan::Op& op, const std::vector<OpId>& after) {
  switch (op.kind) {
    case plan::OpKind::send:
      return builder.send(op.peer, op.src, after);
    case plan::OpKind::recv:
      return builder.recv(op.peer, op.dst, after);
    case plan::OpKind::copy:
      return builder.copy(op.dst, op.src, after);
    case plan::OpKind::reduce:
      return builder.reduce(op.dst, op.src, op.dst_operand, after);
    case plan::OpKind::signal:
      return builder.signal(op.peer, after);
    case plan::OpKind::wait:
      return builder.wait(op.peer, after);
  }
  return plan::kNoOp;
}

/// The same ops; those that follow a message and that no message follows, after all messages.
plan::Plan one_after_another(const plan::Plan& plan, const Machine& machine) {
  const std::size_t count = plan.ops().size();
  std::vector<bool> remote(count);
  std::vector<bool> follows(count);
  std::vector<bool> leads(count);
  for (OpId op = 0; op < count; ++op) {
    remote[op] = is_remote(plan.ops()[op], machine, plan.rank());
    for (const OpId before : plan.after(op)) follows[op] = follows[op] || remote[before];
    for (const OpId before : plan.after(op)) follows[op] = follows[op] || follows[before];
  }
  for (auto op = static_cast<OpId>(count); op-- > 0;) {
    if (!remote[op] && !leads[op]) continue;
    for (const OpId before : plan.after(op)) leads[before] = true;
  }
  plan::Builder builder(plan.rank(), plan.ranks(), plan.input_bytes(), plan.output_bytes());
  builder.allocate_stage(plan.stage_bytes());
  builder.allocate_scratch(plan.scratch_bytes());
  std::vector<OpId> made(count);
  std::vector<OpId> messages;
  for (const bool last : {false, true}) {
    for (OpId op = 0; op < count; ++op) {
      if ((follows[op] && !remote[op] && !leads[op]) != last) continue;
      std::vector<OpId> after;
      for (const OpId before : plan.after(op)) after.push_back(made[before]);
      if (last) after.insert(after.end(), messages.begin(), messages.end());
      made[op] = add(builder, plan.ops()[op], after);
      if (remote[op]) messages.push_back(made[op]);
    }
  }
  return std::move(builder).finish();
}

plan::Problem problem_of(Collective collective, int ranks, std::uint64_t bytes) {
  plan::Problem problem{collective, ranks, bytes, bytes};
  problem.associative = true;
  problem.element_bytes = is_reduction(collective) ? sizeof(double) : 1;
  return problem;
}

}  // namespace

Cluster::Cluster(const std::string& nic, int nodes, int ranks_per_node)
    : machine_(Machine::uniform(nodes, ranks_per_node)),
      hardware_(nic_profiles::load(nic).hardware) {}

double Cluster::us(Collective collective, const std::string& algorithm, std::uint64_t bytes) const {
  const auto problem = problem_of(collective, machine_.ranks(), bytes);
  const auto plans = plans_of(collective, algorithm, problem, machine_);
  return sim::simulate(plans, machine_, hardware_).time_ns / 1e3;
}

double Cluster::us_one_after_another(Collective collective, const std::string& algorithm,
                                     std::uint64_t bytes) const {
  const auto problem = problem_of(collective, machine_.ranks(), bytes);
  const auto plans = plans_of(collective, algorithm, problem, machine_);
  const auto ordered = [&](int rank) { return one_after_another(plans(rank), machine_); };
  return sim::simulate(ordered, machine_, hardware_).time_ns / 1e3;
}

}  // namespace weft::papers
