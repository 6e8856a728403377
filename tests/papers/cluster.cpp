#include "tests/papers/cluster.hpp"

#include <algorithm>
#include <vector>

#include "nic_profiles/profile.hpp"
#include "plan/builder.hpp"
#include "sim/simulator.hpp"
#include "tests/registry/plans.hpp"

namespace weft::papers {

using hierarchy::Machine;
using plan::Collective;
using plan::OpId;

namespace {

constexpr std::uint64_t kWeftEagerBytes = 8192;  // verbs/channel

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

/// Says of each op whether it follows a message of its rank to another node, and whether it leads
/// to one.
struct Place {
  Place(const plan::Plan& plan, const Machine& machine)
      : remote(plan.ops().size()), follows(remote.size()), leads(remote.size()) {
    for (OpId op = 0; op < remote.size(); ++op) {
      remote[op] = is_remote(plan.ops()[op], machine, plan.rank());
      for (const OpId before : plan.after(op)) {
        follows[op] = follows[op] || remote[before] || follows[before];
      }
    }
    for (auto op = static_cast<OpId>(remote.size()); op-- > 0;) {
      if (!remote[op] && !leads[op]) continue;
      for (const OpId before : plan.after(op)) leads[before] = true;
    }
  }
  bool is_first(OpId op) const { return leads[op] && !remote[op] && !follows[op]; }
  bool is_last(OpId op) const { return follows[op] && !remote[op] && !leads[op]; }

  std::vector<bool> remote;
  std::vector<bool> follows;
  std::vector<bool> leads;
};

/// A plan's ops, with more dependencies.
class Reordered {
 public:
  explicit Reordered(const plan::Plan& plan)
      : plan_(plan),
        builder_(plan.rank(), plan.ranks(), plan.input_bytes(), plan.output_bytes()),
        made_(plan.ops().size()) {
    builder_.allocate_stage(plan.stage_bytes());
    builder_.allocate_scratch(plan.scratch_bytes());
  }

  /// The ops must come in an order in which none precedes what it follows.
  OpId add(OpId op, const std::vector<OpId>& more) {
    std::vector<OpId> after = more;
    for (const OpId before : plan_.after(op)) after.push_back(made_[before]);
    return made_[op] = papers::add(builder_, plan_.ops()[op], after);
  }
  plan::Plan finish() && { return std::move(builder_).finish(); }

 private:
  const plan::Plan& plan_;
  plan::Builder builder_;
  std::vector<OpId> made_;
};

/// Order::phased: sends to other nodes after all ops that lead to one; what follows the messages
/// and leads to none after all messages.
plan::Plan in_phases(const plan::Plan& plan, const Machine& machine) {
  const Place place(plan, machine);
  Reordered made(plan);
  std::vector<OpId> first;
  std::vector<OpId> messages;
  for (const int phase : {0, 1, 2}) {
    for (OpId op = 0; op < place.remote.size(); ++op) {
      if ((place.is_first(op) ? 0 : place.is_last(op) ? 2 : 1) != phase) continue;
      const bool sends = place.remote[op] && plan.ops()[op].kind == plan::OpKind::send;
      const OpId id = made.add(op, phase == 2 ? messages : sends ? first : std::vector<OpId>());
      if (phase == 0) first.push_back(id);
      if (place.remote[op]) messages.push_back(id);
    }
  }
  return std::move(made).finish();
}

/// Order::blocking: plans list their ops in program order.
plan::Plan in_blocking_order(const plan::Plan& plan) {
  Reordered made(plan);
  std::vector<OpId> before;                          // the ops of the call before
  std::vector<OpId> call;                            // of this one, and the local ops since
  std::vector<plan::OpKind> messages;                // of this call
  std::size_t number = 1;                            // of this call
  std::vector<std::size_t> tied(plan.ops().size());  // to a message of the call of that number
  for (OpId op = 0; op < plan.ops().size(); ++op) {
    const auto kind = plan.ops()[op].kind;
    const bool depends =
        std::ranges::any_of(plan.after(op), [&](OpId earlier) { return tied[earlier] == number; });
    if (kind != plan::OpKind::send && kind != plan::OpKind::recv) {
      tied[op] = depends ? number : 0;
      call.push_back(made.add(op, {}));
      continue;
    }
    const bool joins =
        messages.empty() || (messages.size() == 1 && !depends && messages[0] != kind);
    if (!joins) {
      before = std::move(call);
      call.clear();
      messages.clear();
      ++number;
    }
    tied[op] = number;
    messages.push_back(kind);
    call.push_back(made.add(op, before));
  }
  return std::move(made).finish();
}

plan::Plan in_order(Order order, plan::Plan plan, const Machine& machine) {
  if (order == Order::phased || order == Order::phased_blocking) plan = in_phases(plan, machine);
  if (order == Order::blocking || order == Order::phased_blocking) plan = in_blocking_order(plan);
  return plan;
}

plan::Problem problem_of(Collective collective, int ranks, std::uint64_t bytes) {
  plan::Problem problem{collective, ranks, bytes, bytes};
  problem.associative = true;
  problem.element_bytes = is_reduction(collective) ? sizeof(double) : 1;
  return problem;
}

}  // namespace

Cluster::Cluster(Software software, const std::string& nic, int nodes, int ranks_per_node,
                 double match_ns)
    : software_(software),
      machine_(Machine::uniform(nodes, ranks_per_node)),
      hardware_(nic_profiles::load(nic).hardware) {
  hardware_.adapter.match_ns = software == Software::paper ? match_ns : 0;
  hardware_.adapter.receiver_first = software == Software::weft;
  if (software == Software::weft) hardware_.adapter.eager_bytes = kWeftEagerBytes;
}

double Cluster::us(Collective collective, const std::string& algorithm, std::uint64_t bytes,
                   Order order) const {
  return us_in_order(collective, algorithm, bytes,
                     software_ == Software::paper ? order : Order::free);
}

double Cluster::us_in_order(Collective collective, const std::string& algorithm,
                            std::uint64_t bytes, Order order) const {
  const auto problem = problem_of(collective, machine_.ranks(), bytes);
  const auto plans = registry::plan_source(algorithm, problem, machine_);
  const auto ordered = [&](int rank) { return in_order(order, plans(rank), machine_); };
  return sim::simulate(ordered, machine_, hardware_).time_ns / 1e3;
}

}  // namespace weft::papers
