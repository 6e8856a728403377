#include "plan/verify/verify.hpp"

#include <fmt/format.h>

#include "plan/text.hpp"
#include "plan/verify/checks.hpp"

namespace weft::plan {

std::string_view to_string(Flaw flaw) {
  switch (flaw) {
    case Flaw::shape:
      return "shape";
    case Flaw::bounds:
      return "bounds";
    case Flaw::matching:
      return "matching";
    case Flaw::deadlock:
      return "deadlock";
    case Flaw::race:
      return "race";
    case Flaw::undefined:
      return "undefined";
    case Flaw::delivery:
      return "delivery";
    case Flaw::element:
      return "element";
    case Flaw::unequal:
      return "unequal";
    case Flaw::order:
      return "order";
    case Flaw::synchronization:
      return "synchronization";
  }
  return "?";
}

std::string to_string(const Finding& finding) {
  std::string text(to_string(finding.flaw));
  if (finding.rank >= 0) text += fmt::format(": rank {}", finding.rank);
  if (finding.op != kNoOp) text += fmt::format(" op {}", finding.op);
  return text + ": " + finding.detail;
}

void Findings::add(Flaw flaw, const OpTable& ops, OpId op, std::string_view detail) {
  if (full()) return;
  add(flaw, ops.rank(op), ops.id(op), fmt::format("{}: {}", to_string(ops[op]), detail));
}

void check_matching(const OpTable& ops, const Matching& matching, Findings& findings) {
  for (const OpId op : matching.unmatched) {
    findings.add(Flaw::matching, ops, op,
                 fmt::format("rank {} has no matching {}", ops[op].peer,
                             to_string(counterpart(ops[op].kind))));
  }
  for (const OpId recv : matching.unequal) {
    const OpId send = matching.partner[recv];
    findings.add(
        Flaw::matching, ops, recv,
        fmt::format("expects {} bytes, but op {} of rank {} sends {}", ops[recv].dst.bytes(),
                    ops.id(send), ops.rank(send), ops[send].src.bytes()));
  }
}

namespace {

/// What follows the check of the shape, of a problem with the contract `expected_on`.
std::vector<Finding> prove(const Problem& problem,
                           const std::function<std::vector<Expectation>(int rank)>& expected_on,
                           std::span<const int> node_of_rank, std::span<const Plan> plans,
                           const VerifyOptions& options, Findings findings) {
  if (findings.any()) return std::move(findings).take();
  const OpTable ops(plans);
  check_bounds(ops, node_of_rank, findings);
  const Matching matching = match(ops);
  check_matching(ops, matching, findings);
  if (findings.any()) return std::move(findings).take();
  check_deadlock(ops, matching, options.bufferings, findings);
  const EventGraph graph(ops, matching);
  if (!graph.cycle().empty()) {
    if (!findings.any()) {
      findings.add(Flaw::deadlock, -1, kNoOp, describe_cycle(ops, graph.cycle()));
    }
    return std::move(findings).take();
  }
  check_races(ops, graph, findings);
  if (problem.collective == Collective::barrier) {
    check_synchronization(ops, graph, findings);
  } else {
    check_delivery(problem, expected_on, ops, matching, graph, findings);
  }
  return std::move(findings).take();
}

}  // namespace

std::vector<Finding> verify(const Problem& problem, std::span<const int> node_of_rank,
                            std::span<const Plan> plans, const VerifyOptions& options) {
  Findings findings(options.limit);
  check_shape(problem, node_of_rank, plans, findings);
  return prove(
      problem, [&](int rank) { return contract(problem, rank); }, node_of_rank, plans, options,
      std::move(findings));
}

std::vector<Finding> verify(std::span<const Edges> edges, std::span<const int> node_of_rank,
                            std::span<const Plan> plans, const VerifyOptions& options) {
  Findings findings(options.limit);
  check_shape(edges, node_of_rank, plans, findings);
  Problem problem;
  problem.collective = Collective::alltoallv;
  problem.ranks = static_cast<int>(edges.size());
  return prove(
      problem, [&](int rank) { return contract(edges, rank); }, node_of_rank, plans, options,
      std::move(findings));
}

}  // namespace weft::plan
