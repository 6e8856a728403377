#include "gather/flat/team_of_all.hpp"

#include <numeric>

#include "base/error.hpp"

namespace weft::gather {

using plan::Collective;
using plan::Problem;
using plan::Space;

namespace {

Slices own_block(const Problem& problem, Space space, int rank) {
  return at(space, rank, 0, problem.block(rank).bytes);
}

Slices block_of(const Problem& problem, Space space, int owner, int rank) {
  return at(space, owner, problem.block(rank).offset, problem.block(rank).bytes);
}

}  // namespace

Team team_of_all(const Problem& problem, int rank) {
  Team team;
  team.members.resize(static_cast<std::size_t>(problem.ranks));
  std::iota(team.members.begin(), team.members.end(), 0);
  team.self = rank;
  team.root = problem.root;
  team.blocks = problem.collective == Collective::broadcast ? 1 : problem.ranks;
  team.grain = problem.grain();
  team.bytes = [&problem](int block) { return problem.block(block).bytes; };
  const auto holds_as_root = [&problem](int member, int) { return member == problem.root; };
  const auto own_input = [&problem](int member, int) {
    return own_block(problem, Space::input, member);
  };
  switch (problem.collective) {
    case Collective::broadcast:
      team.bytes = [&problem](int) { return problem.block_bytes; };
      team.holds = holds_as_root;
      team.source = [&problem](int member, int) {
        return at(Space::input, member, 0, problem.block_bytes);
      };
      team.target = [&problem](int member, int) {
        if (member == problem.root) return Slices();
        return at(Space::output, member, 0, problem.block_bytes);
      };
      break;
    case Collective::scatter:
      team.holds = holds_as_root;
      team.may_hold = [&problem](int member) {
        return member == problem.root ? Range{0, problem.ranks} : Range{};
      };
      team.source = [&problem](int member, int block) {
        return block_of(problem, Space::input, member, block);
      };
      team.target = [&problem](int member, int block) {
        return member == block ? own_block(problem, Space::output, member) : Slices();
      };
      break;
    case Collective::gather:
      team.holds = holds_own;
      team.may_hold = algorithm::may_hold_own;
      team.source = own_input;
      team.target = [&problem](int member, int block) {
        if (member != problem.root) return Slices();
        return block_of(problem, Space::output, member, block);
      };
      break;
    case Collective::allgather:
      team.holds = holds_own;
      team.may_hold = algorithm::may_hold_own;
      team.source = own_input;
      team.target = [&problem](int member, int block) {
        return block_of(problem, Space::output, member, block);
      };
      break;
    default:
      throw_usage("gather asked for {}: it has broadcast, scatter, gather, allgather and barrier",
                  to_string(problem.collective));
  }
  return team;
}

}  // namespace weft::gather
