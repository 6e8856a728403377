#include "engine/program/sized_program.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::engine {

using plan::Extent;
using plan::Family;
using plan::Form;
using plan::OpId;
using plan::Plan;

namespace {

constexpr Extent kFirst{plan::kSampleUnit, plan::kSampleTails[0]};
constexpr Extent kSecond{plan::kSampleUnit, plan::kSampleTails[1]};

Form form_of(std::uint64_t first, std::uint64_t second) {
  const auto form = plan::form_of(first, second);
  if (!form) throw Error(fmt::format("{} and {} bytes have no form", first, second));
  return *form;
}

std::vector<Plan> plans_at(std::span<const Family* const> families, const Extent& extent) {
  std::vector<Plan> plans;
  for (const Family* family : families) {
    plans.push_back(family == nullptr ? Plan() : family->at(extent));
  }
  return plans;
}

}  // namespace

SizedProgram::SizedProgram(std::span<const Family* const> families, int place,
                           std::span<const int> place_of_rank, int units, bool carries,
                           const Extent& extent) {
  const auto family_at = [&](int at) -> const Family& {
    return *families[static_cast<std::size_t>(at)];
  };
  const auto own = static_cast<std::size_t>(place);
  const auto first = plans_at(families, kFirst);
  const auto second = plans_at(families, kSecond);
  std::vector<InlineOp> messages;
  if (carries && decide({{units, 1}, 1, kInlineBytes, true}, extent)) {
    messages = find_inline_messages(first, place, [&](int at, OpId op) {
      const std::uint64_t count = family_at(at).shape().ops()[op].src.count;
      return decide({family_at(at).block_of(op, true), count, kInlineBytes, true}, extent);
    });
  }
  const auto folds = find_folds(first[own], [&](OpId op) {
    return !decide({family_at(place).block_of(op, false), 1, kLeastFolded - 1, true}, extent);
  });
  const int places = static_cast<int>(families.size());
  first_ = Program(first[own], place_of_rank, places, messages, folds);
  find_bytes_in(second, place, messages);
  find_forms(Program(second[own], place_of_rank, places, messages, folds));
}

/// Whether a number is within its limit at `extent`, which is remembered.
bool SizedProgram::decide(const Condition& asked, const Extent& extent) {
  Condition condition = asked;
  condition.is_within = condition.holds_at(extent) == asked.is_within;
  if (std::ranges::find(conditions_, condition) == conditions_.end()) {
    conditions_.push_back(condition);
  }
  return condition.is_within;
}

void SizedProgram::find_forms(const Program& second) {
  input_bytes_ = form_of(first_.input_bytes_, second.input_bytes_);
  output_bytes_ = form_of(first_.output_bytes_, second.output_bytes_);
  stage_bytes_ = form_of(first_.stage_bytes_, second.stage_bytes_);
  scratch_bytes_ = form_of(first_.scratch_bytes_, second.scratch_bytes_);
  for (std::uint32_t id = 0; id < first_.steps_.size(); ++id) {
    note_operand(id, false, second);
    note_operand(id, true, second);
    if (first_.may_be_small(first_.steps_[id])) small_.push_back(id);
  }
}

void SizedProgram::note_operand(std::uint32_t step, bool is_source, const Program& second) {
  const auto operand_of = [&](const Program& program) -> const Operand& {
    return is_source ? program.steps_[step].src : program.steps_[step].dst;
  };
  const Operand& one = operand_of(first_);
  const Operand& other = operand_of(second);
  if (one.count == 0) return;
  const bool is_inline = one.base >= first_.inline_base(0, 1) && one.base < first_.input_base(0);
  operands_.push_back(
      {step, is_source, is_inline, is_inline ? Form() : form_of(one.offset, other.offset),
       form_of(one.block_bytes, other.block_bytes), form_of(one.stride, other.stride)});
}

bool SizedProgram::fits(const Extent& extent) const noexcept {
  return std::ranges::all_of(conditions_,
                             [&](const Condition& one) { return one.holds_at(extent); });
}

Program SizedProgram::program(const Extent& extent) const {
  Program program = first_;
  resize(program, extent);
  return program;
}

void SizedProgram::resize(Program& program, const Extent& extent) const noexcept {
  for (const OperandForm& form : operands_) {
    Step& step = program.steps_[form.step];
    Operand& operand = form.is_source ? step.src : step.dst;
    operand.block_bytes = form.block.at(extent);
    operand.stride = form.stride.at(extent);
    operand.offset = form.is_inline ? kInlineBytes - operand.block_bytes : form.offset.at(extent);
  }
  for (const std::uint32_t id : small_) {
    program.steps_[id].small = Program::is_small(program.steps_[id]);
  }
  program.input_bytes_ = input_bytes_.at(extent);
  program.output_bytes_ = output_bytes_.at(extent);
  program.stage_bytes_ = stage_bytes_.at(extent);
  program.scratch_bytes_ = scratch_bytes_.at(extent);
}

}  // namespace weft::engine
