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
    const bool has_dst = step.dst.count != 0;
    const bool has_src = step.src.count != 0;
    if (!has_dst && !has_src) continue;
    const bool is_recv = step.kind == plan::OpKind::recv;
    const bool is_local = is_recv && place_of_rank[first_.peers()[step.peer]] >= 0;
    moves_.push_back({id, family_.piece(id, false), family_.piece(id, true), has_dst, has_src,
                      step.deferred, first_.may_be_small(step), is_local});
  }
}

Program LayoutProgram::program(const plan::Problem& problem) {
  Program program = first_;
  renumber(program, problem);
  return program;
}

inline void LayoutProgram::write(Operand& operand, const Piece& piece) const noexcept {
  operand.offset = at_[piece.begin];
  operand.block_bytes = operand.stride = at_[piece.end] - at_[piece.begin];
}

/// Steps without bytes are left out, and so are their messages, at both ends.
bool LayoutProgram::renumber(Program& program, const plan::Problem& problem) noexcept {
  family_.locate(problem.layout, at_);
  program.hears_all_ = first_.hears_all_;
  bool same_steps = true;
  for (const Move& move : moves_) {
    Step& step = program.steps_[move.step];
    if (move.has_dst) write(step.dst, move.dst);
    if (move.has_src) write(step.src, move.src);
    const bool is_empty = (move.has_src ? step.src : step.dst).block_bytes == 0;
    const bool is_deferred = move.is_deferred || is_empty;
    same_steps &= is_deferred == step.deferred;
    step.deferred = is_deferred;
    step.small = move.may_be_small && !is_empty && Program::is_small(step);
    if (is_empty && move.is_local_recv) program.hears_all_ = false;
  }
  const int self = family_.shape().rank();
  program.set_buffer_bytes(problem.input_bytes(self), problem.output_bytes(self));
  program.stage_bytes_ = at_[family_.stage_end()];
  program.scratch_bytes_ = at_[family_.scratch_end()];
  return same_steps;
}

}  // namespace weft::engine
