#include "tests/plan/draft.hpp"

#include "plan/builder.hpp"

namespace weft::plan::testing {

Draft::Draft(const Plan& plan)
    : rank(plan.rank()),
      ranks(plan.ranks()),
      input_bytes(plan.input_bytes()),
      output_bytes(plan.output_bytes()),
      stage_bytes(plan.stage_bytes()),
      scratch_bytes(plan.scratch_bytes()) {
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    const auto after = plan.after(id);
    lines.push_back({plan.ops()[id], {after.begin(), after.end()}});
  }
}

Plan Draft::build() const {
  Builder builder(rank, ranks, input_bytes, output_bytes);
  builder.allocate_stage(stage_bytes);
  builder.allocate_scratch(scratch_bytes);
  std::vector<OpId> built;
  for (const auto& [op, old_after] : lines) {
    std::vector<OpId> after;
    for (const OpId id : old_after) after.push_back(built[id]);
    switch (op.kind) {
      case OpKind::send:
        built.push_back(builder.send(op.peer, op.src, after));
        break;
      case OpKind::recv:
        built.push_back(builder.recv(op.peer, op.dst, after));
        break;
      case OpKind::copy:
        built.push_back(builder.copy(op.dst, op.src, after));
        break;
      case OpKind::reduce:
        built.push_back(builder.reduce(op.dst, op.src, op.dst_operand, after));
        break;
      case OpKind::signal:
        built.push_back(builder.signal(op.peer, after));
        break;
      case OpKind::wait:
        built.push_back(builder.wait(op.peer, after));
        break;
    }
  }
  return std::move(builder).finish();
}

void Draft::drop(OpId id) {
  const auto inherited = lines[id].after;
  lines.erase(lines.begin() + id);
  for (auto& line : lines) {
    std::vector<OpId> after;
    for (const OpId before : line.after) {
      if (before < id) after.push_back(before);
      if (before > id) after.push_back(before - 1);
      if (before == id) after.insert(after.end(), inherited.begin(), inherited.end());
    }
    line.after = after;
  }
}

void Draft::repeat(OpId id) {
  for (auto& line : lines) {
    for (OpId& before : line.after) before += before >= id;
  }
  lines.insert(lines.begin() + id + 1, {lines[id].op, {id}});
}

}  // namespace weft::plan::testing
