#include "engine/program/layout_program.hpp"

#include <utility>

namespace weft::engine {

LayoutProgram::LayoutProgram(plan::LayoutFamily family, const plan::Problem& largest,
                             std::span<const int> place_of_rank, int places)
    : family_(std::move(family)),
      first_(family_.at(largest), place_of_rank, places),
      at_(family_.positions()) {
  for (std::uint32_t id = 0; id < first_.steps_.size(); ++id) {
    const Step& step = first_.steps_[id];
    const bool has_src = step.src.count != 0;
    if (step.dst.count != 0) sides_.push_back({id, false, family_.piece(id, false)});
    if (has_src) sides_.push_back({id, true, family_.piece(id, true)});
    if (step.dst.count == 0 && !has_src) continue;
    const bool is_recv = step.kind == plan::OpKind::recv;
    const bool is_local = is_recv && place_of_rank[first_.peers()[step.peer]] >= 0;
    moves_.push_back({id, has_src, step.deferred, is_local});
    if (first_.may_be_small(step)) small_.push_back(id);
  }
}

Program LayoutProgram::program(const plan::Problem& problem) {
  Program program = first_;
  had_empty_ = true;
  renumber(program, problem);
  return program;
}

/// Steps without bytes are left out, and so are their messages, at both ends. Returns whether these
/// are the same steps as before.
bool LayoutProgram::leave_out(Program& program) noexcept {
  program.hears_all_ = first_.hears_all_;
  bool same_steps = true;
  for (const Move& move : moves_) {
    Step& step = program.steps_[move.step];
    const bool is_empty = (move.has_src ? step.src : step.dst).block_bytes == 0;
    const bool is_deferred = move.is_deferred || is_empty;
    same_steps &= is_deferred == step.deferred;
    step.deferred = is_deferred;
    if (is_empty && move.is_local_recv) program.hears_all_ = false;
  }
  return same_steps;
}

bool LayoutProgram::renumber(Program& program, const plan::Problem& problem) noexcept {
  const bool has_empty = family_.locate(problem.layout, at_);
  const std::uint64_t* const at = at_.data();
  Step* const steps = program.steps_.data();
  for (const Side& side : sides_) {
    Operand& operand = side.is_source ? steps[side.step].src : steps[side.step].dst;
    const std::uint64_t begin = at[side.piece.begin];
    operand.offset = begin;
    operand.block_bytes = operand.stride = at[side.piece.end] - begin;
  }
  const bool same_steps = !(has_empty || had_empty_) || leave_out(program);
  had_empty_ = has_empty;
  for (const std::uint32_t id : small_) {
    steps[id].small = !steps[id].deferred && Program::is_small(steps[id]);
  }
  const std::uint64_t own = problem.layout[static_cast<std::size_t>(family_.shape().rank())].bytes;
  const std::uint64_t all = at_[family_.end_of_all()];
  const bool gathers = problem.collective == plan::Collective::allgather;
  program.set_buffer_bytes(gathers ? own : all, gathers ? all : own);
  program.stage_bytes_ = at_[family_.stage_end()];
  program.scratch_bytes_ = at_[family_.scratch_end()];
  return same_steps;
}

}  // namespace weft::engine
