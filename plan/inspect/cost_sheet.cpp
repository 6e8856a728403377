#include "plan/inspect/cost_sheet.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plan/verify/matched.hpp"

namespace weft::plan {

Cost& Cost::operator+=(const Cost& other) {
  messages += other.messages;
  wire_bytes += other.wire_bytes;
  local_messages += other.local_messages;
  local_bytes += other.local_bytes;
  copied_bytes += other.copied_bytes;
  reduced_bytes += other.reduced_bytes;
  signals += other.signals;
  stage_bytes += other.stage_bytes;
  scratch_bytes += other.scratch_bytes;
  peers += other.peers;
  return *this;
}

namespace {

Cost cost_of(const Plan& plan, std::span<const int> node_of_rank) {
  Cost cost;
  cost.stage_bytes = plan.stage_bytes();
  cost.scratch_bytes = plan.scratch_bytes();
  std::vector<int> peers;
  for (const Op& op : plan.ops()) {
    const bool remote = op.peer >= 0 && node_of_rank[static_cast<std::size_t>(op.peer)] !=
                                            node_of_rank[static_cast<std::size_t>(plan.rank())];
    switch (op.kind) {
      case OpKind::send:
        ++(remote ? cost.messages : cost.local_messages);
        (remote ? cost.wire_bytes : cost.local_bytes) += op.src.bytes();
        break;
      case OpKind::copy:
        cost.copied_bytes += op.dst.bytes();
        break;
      case OpKind::reduce:
        cost.reduced_bytes += op.dst.bytes();
        break;
      case OpKind::signal:
        ++cost.signals;
        break;
      case OpKind::recv:
      case OpKind::wait:
        break;
    }
    if (remote) peers.push_back(op.peer);
  }
  std::ranges::sort(peers);
  cost.peers = static_cast<std::uint64_t>(std::ranges::unique(peers).begin() - peers.begin());
  return cost;
}

/// The longest chain of messages: of those on the wire, or of messages and signals inside nodes.
std::uint64_t rounds(const MatchedPlans& plans, std::span<const int> node_of_rank, bool wire) {
  const auto lengths = longest_chains(plans.graph, plans.ops, [&](OpId op) -> std::uint32_t {
    const bool remote = node_of_rank[static_cast<std::size_t>(plans.ops.rank(op))] !=
                        node_of_rank[static_cast<std::size_t>(plans.ops[op].peer)];
    return wire ? remote && plans.ops[op].kind == OpKind::recv : !remote;
  });
  return lengths.empty() ? 0 : std::ranges::max(lengths);
}

}  // namespace

CostSheet cost_sheet(std::span<const int> node_of_rank, std::span<const Plan> plans) {
  const MatchedPlans matched("cost", node_of_rank, plans);
  CostSheet sheet;
  for (const Plan& plan : plans) {
    const auto node = static_cast<std::size_t>(node_of_rank[static_cast<std::size_t>(plan.rank())]);
    sheet.by_rank.push_back(cost_of(plan, node_of_rank));
    if (node >= sheet.by_node.size()) sheet.by_node.resize(node + 1);
    sheet.by_node[node] += sheet.by_rank.back();
    sheet.total += sheet.by_rank.back();
  }
  sheet.rounds = rounds(matched, node_of_rank, true);
  sheet.local_rounds = rounds(matched, node_of_rank, false);
  return sheet;
}

std::string to_table(const CostSheet& sheet, bool ranks) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<10}{:>9}{:>14}{:>9}{:>14}{:>14}{:>14}{:>9}{:>12}{:>12}{:>7}\n", "",
                 "messages", "wire bytes", "local", "local bytes", "copied", "reduced", "signals",
                 "stage", "scratch", "peers");
  const auto line = [&](const std::string& name, const Cost& cost) {
    fmt::format_to(out, "{:<10}{:>9}{:>14}{:>9}{:>14}{:>14}{:>14}{:>9}{:>12}{:>12}{:>7}\n", name,
                   cost.messages, cost.wire_bytes, cost.local_messages, cost.local_bytes,
                   cost.copied_bytes, cost.reduced_bytes, cost.signals, cost.stage_bytes,
                   cost.scratch_bytes, cost.peers);
  };
  for (std::size_t rank = 0; ranks && rank < sheet.by_rank.size(); ++rank) {
    line(fmt::format("rank {}", rank), sheet.by_rank[rank]);
  }
  for (std::size_t node = 0; node < sheet.by_node.size(); ++node) {
    line(fmt::format("node {}", node), sheet.by_node[node]);
  }
  line("total", sheet.total);
  fmt::format_to(out, "rounds {} on the wire, {} inside nodes\n", sheet.rounds, sheet.local_rounds);
  return text;
}

}  // namespace weft::plan
