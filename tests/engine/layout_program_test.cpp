// Layout programs, against programs of the plans of each list.
#include "engine/program/layout_program.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "engine/program/sequence.hpp"
#include "registry/families.hpp"
#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::engine::layout_program_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using plan::OpKind;
using plan::Problem;

bool is_alike(const Operand& a, const Operand& b) {
  const bool same_bytes = a.bytes() == b.bytes();
  return same_bytes && (a.bytes() == 0 || (a.base == b.base && a.offset == b.offset &&
                                           a.count == 1 && b.count == 1 && a.stride == b.stride));
}

/// `made` is that of a plan whose slices without bytes say nothing of where they are.
void expect_alike(const Program& renumbered, const Program& made) {
  RC_ASSERT(renumbered.steps().size() == made.steps().size());
  for (std::size_t id = 0; id < made.steps().size(); ++id) {
    const Step& one = renumbered.steps()[id];
    const Step& other = made.steps()[id];
    RC_ASSERT(one.kind == other.kind);
    RC_ASSERT(is_alike(one.dst, other.dst));
    RC_ASSERT(is_alike(one.src, other.src));
    const bool moves = one.kind != OpKind::signal && one.kind != OpKind::wait;
    const bool is_empty = one.src.bytes() + one.dst.bytes() == 0;
    RC_ASSERT(one.deferred == (other.deferred || (moves && is_empty)));
    RC_ASSERT(one.small == (other.small && !is_empty));
  }
  RC_ASSERT(std::ranges::equal(renumbered.pending(), made.pending()));
  RC_ASSERT(std::ranges::equal(renumbered.initial(), made.initial()));
  RC_ASSERT(renumbered.input_bytes() == made.input_bytes());
  RC_ASSERT(renumbered.output_bytes() == made.output_bytes());
  RC_ASSERT(renumbered.stage_bytes() == made.stage_bytes());
  RC_ASSERT(renumbered.scratch_bytes() == made.scratch_bytes());
}

bool is_alike(const Action::Side& a, const Action::Side& b) {
  return a.memory == b.memory && a.place == b.place && a.ordinal == b.ordinal &&
         a.offset == b.offset;
}

/// A sequence whose numbers were written anew is the one that is made.
void expect_alike(const Sequence& renumbered, const Sequence& made) {
  RC_ASSERT(renumbered.actions().size() == made.actions().size());
  RC_ASSERT(renumbered.hears_all_places() == made.hears_all_places());
  for (std::size_t i = 0; i < made.actions().size(); ++i) {
    const Action& one = renumbered.actions()[i];
    const Action& other = made.actions()[i];
    RC_ASSERT(one.kind == other.kind);
    RC_ASSERT(one.step == other.step);
    RC_ASSERT(one.bytes == other.bytes);
    RC_ASSERT(is_alike(one.from, other.from));
    RC_ASSERT(is_alike(one.to, other.to));
  }
}

std::vector<plan::Block> any_list(int ranks, std::uint64_t element) {
  const auto counts = *rc::gen::container<std::vector<std::uint64_t>>(
                           static_cast<std::size_t>(ranks),
                           rc::gen::element<std::uint64_t>(0, 1, 2, 3, 40, 600, 9000))
                           .as("elements");
  std::vector<plan::Block> layout;
  std::uint64_t end = 0;
  for (const std::uint64_t count : counts) {
    layout.push_back({end, count * element});
    end += count * element;
  }
  return layout;
}

// Renumbered from list to list, it is the program of each of them.
RC_GTEST_PROP(LayoutPrograms, AreTheProgramsOfEachList, ()) {
  const auto collective = *rc::gen::element(Collective::allgather, Collective::reduce_scatter);
  const auto machine = hierarchy::any_machine(9);
  const int ranks = machine.ranks();
  Problem largest = Problem::alltoall(ranks, 9000 * 8);
  largest.collective = collective;
  if (is_reduction(collective)) largest.element_bytes = 8;
  const auto algorithms = registry::variants(collective, ranks, largest.block_bytes);
  const auto& algorithm = algorithms[*rc::gen::inRange<std::size_t>(0, algorithms.size())];
  RC_TAG(algorithm.name());
  RC_PRE(!algorithm.refusal(largest, machine));
  const int rank = *rc::gen::inRange(0, ranks).as("rank");
  const auto family = registry::layout_family_of(algorithm, largest, machine, rank);
  RC_PRE(family.has_value());
  std::vector<int> place_of_rank(static_cast<std::size_t>(ranks), -1);
  const auto local = machine.ranks_on(machine.node_of(rank));
  for (const int one : local) place_of_rank[static_cast<std::size_t>(one)] = machine.place_of(one);
  const auto places = static_cast<int>(local.size());

  Problem list = largest;
  list.block_bytes = list.stride = 0;
  for (int block = 0; block < ranks; ++block) {
    list.layout.push_back(
        {static_cast<std::uint64_t>(block) * largest.block_bytes, largest.block_bytes});
  }
  const auto folds = find_folds(family->at(list));
  LayoutProgram lists(*family, list, place_of_rank, places);
  Program program = lists.program(list);
  Sequence sequence;
  sequence.assign(program, 1024);
  for (int turn = 0; turn < 6; ++turn) {
    list.layout = any_list(ranks, 8);
    const bool same_steps = lists.renumber(program, list);
    expect_alike(program, Program(family->at(list), place_of_rank, places, {}, folds));
    same_steps ? sequence.renumber(program, 1024) : sequence.assign(program, 1024);
    Sequence made;
    made.assign(program, 1024);
    expect_alike(sequence, made);
  }
}

}  // namespace
}  // namespace weft::engine::layout_program_test
