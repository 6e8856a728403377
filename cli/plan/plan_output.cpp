#include "cli/plan/plan_output.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verbs/connection/rc_wire.hpp"

namespace weft::cli {

Json to_json(const plan::Plan& plan) {
  Json ops = Json::array();
  for (plan::OpId id = 0; id < plan.ops().size(); ++id) {
    const plan::Op& op = plan.ops()[id];
    Json json = {{"op", to_string(op.kind)}};
    if (op.peer >= 0) json["peer"] = op.peer;
    if (!op.dst.empty()) json["dst"] = to_string(op.dst);
    if (!op.src.empty()) json["src"] = to_string(op.src);
    if (op.kind == plan::OpKind::reduce) {
      json["dst_operand"] = op.dst_operand == plan::Operand::left ? "left" : "right";
    }
    json["after"] = std::vector<plan::OpId>(plan.after(id).begin(), plan.after(id).end());
    ops.push_back(std::move(json));
  }
  return {{"rank", plan.rank()},
          {"ranks", plan.ranks()},
          {"input_bytes", plan.input_bytes()},
          {"output_bytes", plan.output_bytes()},
          {"stage_bytes", plan.stage_bytes()},
          {"scratch_bytes", plan.scratch_bytes()},
          {"ops", std::move(ops)}};
}

Json to_json(const plan::Cost& cost) {
  return {{"messages", cost.messages},
          {"wire_bytes", cost.wire_bytes},
          {"local_messages", cost.local_messages},
          {"local_bytes", cost.local_bytes},
          {"copied_bytes", cost.copied_bytes},
          {"reduced_bytes", cost.reduced_bytes},
          {"signals", cost.signals},
          {"stage_bytes", cost.stage_bytes},
          {"scratch_bytes", cost.scratch_bytes},
          {"peers", cost.peers}};
}

Json to_json(const plan::CostSheet& sheet) {
  Json json = {{"rounds", sheet.rounds},
               {"local_rounds", sheet.local_rounds},
               {"total", to_json(sheet.total)},
               {"by_node", Json::array()},
               {"by_rank", Json::array()}};
  for (const plan::Cost& cost : sheet.by_node) json["by_node"].push_back(to_json(cost));
  for (const plan::Cost& cost : sheet.by_rank) json["by_rank"].push_back(to_json(cost));
  return json;
}

Transport transport_of(const plan::CostSheet& sheet) {
  Transport most;
  for (const plan::Cost& cost : sheet.by_rank) {
    most.connections = std::max(most.connections, cost.peers);
  }
  most.memory_bytes = most.connections * verbs::RcWire::memory_bytes();
  return most;
}

std::string describe(const plan::Cost& cost) {
  return fmt::format(
      "between nodes {}, {} to {}; inside {}, {}, {}; {} copied, {} reduced; stage {}, scratch {}",
      counted(cost.messages, "message"), counted(cost.wire_bytes, "byte"),
      counted(cost.peers, "peer"), counted(cost.local_messages, "message"),
      counted(cost.local_bytes, "byte"), counted(cost.signals, "signal"),
      counted(cost.copied_bytes, "byte"), cost.reduced_bytes, cost.stage_bytes, cost.scratch_bytes);
}

}  // namespace weft::cli
