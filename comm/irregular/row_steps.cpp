#include "comm/irregular/row_steps.hpp"

#include <algorithm>

namespace weft::comm {

using engine::Operand;
using plan::Block;
using plan::OpKind;

namespace {

enum Base : std::uint32_t { kInput = 0, kOutput = 1 };  // as engine::Operand numbers them

/// The place whose stage, or whose message, an operand lies in; -1: in neither.
int place_of(const engine::Program& program, const Operand& operand) {
  const auto places = static_cast<std::uint32_t>(program.places());
  const std::uint32_t first = program.stage_base(0);
  if (operand.base < first || operand.base >= program.input_base(0)) return -1;
  return static_cast<int>((operand.base - first) % places);
}

bool is_message(const engine::Program& program, const Operand& operand) {
  return operand.base >= program.inline_base(0, 1) && operand.base < program.input_base(0);
}

/// The place that is told of a copy into the own stage; -1: none, or several.
int place_told(const engine::Program& program, const engine::Step& copy) {
  const auto after = program.successors(copy);
  if (after.size() != 1 || program.steps()[after[0]].kind != OpKind::signal) return -1;
  return static_cast<int>(program.steps()[after[0]].peer);
}

}  // namespace

RowSteps::RowSteps(const engine::Program& program, std::span<const int> peers,
                   const hierarchy::Machine& machine, int rank, std::span<const Block> row,
                   std::span<const BlockWay> ways)
    : own_(static_cast<std::size_t>(rank)), hears_all_(program.hears_all_places()) {
  const auto ranks = static_cast<std::uint32_t>(row.size() / 2);
  const auto local = machine.ranks_on(machine.node_of(rank));
  const int own_place = machine.place_of(rank);
  const auto rank_at = [&](int place) -> std::uint32_t {
    return place < 0 ? kNoBlock
                     : static_cast<std::uint32_t>(local[static_cast<std::size_t>(place)]);
  };
  for (std::uint32_t id = 0; id < program.steps().size(); ++id) {
    const engine::Step& step = program.steps()[id];
    if (step.deferred || step.kind == OpKind::wait) continue;
    if (step.kind == OpKind::signal && !step.is_inline) continue;
    Moved moved{id};
    if (step.kind == OpKind::signal) {
      moved.source = rank_at(static_cast<int>(step.peer));
    } else if (step.kind == OpKind::send) {
      moved.source = static_cast<std::uint32_t>(peers[step.peer]);
    } else if (step.kind == OpKind::recv) {
      moved.target = ranks + static_cast<std::uint32_t>(peers[step.peer]);
    } else if (step.kind == OpKind::copy && step.src.base == kInput && step.dst.base == kOutput) {
      moved.source = static_cast<std::uint32_t>(rank);
      moved.target = ranks + moved.source;
    } else if (step.kind == OpKind::copy && step.src.base == kInput &&
               step.dst.base == program.stage_base(own_place)) {
      moved.source = rank_at(place_told(program, step));
    } else if (step.kind == OpKind::copy && step.dst.base == kOutput) {
      const std::uint32_t from = rank_at(place_of(program, step.src));
      moved.target = from == kNoBlock ? kNoBlock : ranks + from;
    }
    if (moved.source == kNoBlock && moved.target == kNoBlock) {
      moved_ = {};
      return;
    }
    moved_.push_back(moved);
  }
  if (!has_equal_own_blocks(row) || !is_numbered_by(row, program)) {
    moved_ = {};
    return;
  }
  ways_.assign(ways.begin(), ways.end());
}

/// They are copied by one step.
bool RowSteps::has_equal_own_blocks(std::span<const Block> row) const noexcept {
  return row[own_].bytes == row[row.size() / 2 + own_].bytes;
}

/// Whether each step has the numbers that renumber() would give it.
bool RowSteps::is_numbered_by(std::span<const Block> row, const engine::Program& program) const {
  const auto sends = row.first(row.size() / 2), receives = row.last(row.size() / 2);
  if (program.input_bytes() != plan::end_of(sends) ||
      program.output_bytes() != plan::end_of(receives)) {
    return false;
  }
  return std::ranges::all_of(moved_, [&](const Moved& moved) {
    const engine::Step& step = program.steps()[moved.step];
    const auto is_of = [&](std::uint32_t block, const Operand& operand) {
      if (block == kNoBlock) return true;
      return operand.count == 1 && operand.block_bytes == row[block].bytes &&
             operand.offset == row[block].offset;
    };
    if (!is_of(moved.source, step.src) || !is_of(moved.target, step.dst)) return false;
    const bool reads_message = is_message(program, step.src);
    return !reads_message || step.src.offset + step.src.block_bytes == engine::kInlineBytes;
  });
}

bool RowSteps::serves(std::span<const Block> row, std::span<const BlockWay> ways) const noexcept {
  return !ways_.empty() && has_equal_own_blocks(row) && std::ranges::equal(ways_, ways);
}

bool RowSteps::renumber(std::span<const Block> row, engine::Program& program) const noexcept {
  bool same_steps = true, hears_all = hears_all_;
  for (const Moved& moved : moved_) {
    const engine::Step& step = program.steps()[moved.step];
    const std::uint64_t bytes = row[moved.source != kNoBlock ? moved.source : moved.target].bytes;
    if (step.kind == OpKind::send || step.kind == OpKind::recv) {
      same_steps &= step.deferred == (bytes == 0);
      program.leave_out(moved.step, bytes == 0);
      if (bytes == 0 && step.kind == OpKind::recv) hears_all = false;
    }
    if (moved.source != kNoBlock) {
      program.move(moved.step, true, row[moved.source].offset, bytes);
    } else if (step.kind == OpKind::copy) {
      const bool reads_message = is_message(program, step.src);
      program.move(moved.step, true, reads_message ? engine::kInlineBytes - bytes : step.src.offset,
                   bytes);
    }
    if (moved.target != kNoBlock) {
      program.move(moved.step, false, row[moved.target].offset, bytes);
    } else if (step.kind == OpKind::copy) {
      program.move(moved.step, false, step.dst.offset, bytes);
    }
  }
  program.set_hears_all_places(hears_all);
  program.set_buffer_bytes(plan::end_of(row.first(row.size() / 2)),
                           plan::end_of(row.last(row.size() / 2)));
  return same_steps;
}

}  // namespace weft::comm
