// Broadcast of a long block as a scatter of its p parts along a binomial tree, then an allgather of
// the parts (van de Geijn).
//
//   root 0, p = 4:  0 --2,3--> 2 --3--> 3      then around a ring, or doubling, all parts to all
//                   '---1----> 1
//
// Part i, counted from the root, is the bytes from i n / p to (i + 1) n / p. The root needs nothing
// of the allgather, and members inside the tree already have their subtree's parts: none of these
// is sent to them again, so that every member receives each byte once.
//
// With p members, n bytes:
//   rounds    at most ceil(lg p) + p - 1 with a ring; at most 3 ceil(lg p) with doubling
//   messages  of a member, with a ring: ceil(lg p) + p - 1 at most
//   bytes     (p - 1) n in all, n received by each but the root: below the 2 (p - 1) / p n of a
//             scatter and a whole allgather
//   copied, stage, scratch 0 for a ring where the block is one slice
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.2: T_vandegeijn.
#include "algorithm/blocks.hpp"
#include "gather/flat/algorithms.hpp"
#include "gather/flat/team_segments.hpp"

namespace weft::gather {

Arrived scatter_allgather(plan::Builder& builder, const Team& team, Allgather allgather) {
  const int p = team.size();
  const std::uint64_t bytes = team.bytes(0);
  std::vector<std::uint64_t> begins;  // of the parts, and the end of the last one
  begins.reserve(static_cast<std::size_t>(p) + 1);
  for (int part = 0; part <= p; ++part) {
    begins.push_back(algorithm::begin_of_part(bytes, team.grain, p, part));
  }
  const auto whole_at = [&](int member) {
    return member == team.root ? team.source(member, 0) : team.target(member, 0);
  };
  const Slices own = whole_at(team.self);
  const auto place = [&](int member, int block) {
    const auto part = static_cast<std::size_t>(team.around(block, -team.root));
    return cut(member == team.self ? own : whole_at(member), begins[part], begins[part + 1]);
  };
  Team parts = team;
  parts.blocks = p;
  parts.bytes = [&](int block) {
    const auto part = static_cast<std::size_t>(team.around(block, -team.root));
    return begins[part + 1] - begins[part];
  };
  parts.holds = [&](int member, int /*block*/) { return member == team.root; };
  parts.source = place;
  parts.target = [&](int member, int block) {
    return member == team.root ? Slices() : place(member, block);
  };
  parts.ready = [&](int /*block*/) { return team.ready_for(0); };
  const Arrived scattered = tree_scatter(builder, parts, binomial_tree);

  std::vector<int> last(team.members.size());  // of each member's subtree, as parts
  std::vector<Range> subtrees = {{0, p}};
  while (!subtrees.empty()) {
    const Range subtree = subtrees.back();
    subtrees.pop_back();
    last[subtree.first] = subtree.last;
    const auto children = binomial_tree(subtree, 2);
    subtrees.insert(subtrees.end(), children.begin(), children.end());
  }
  parts.holds = [&](int member, int block) {
    const int head = team.around(member, -team.root);
    const int part = team.around(block, -team.root);
    return head <= part && part < last[head];
  };
  parts.ready = [&](int block) { return scattered[block]; };
  Arrived whole(1);
  whole[0] = algorithm::joined(allgather(builder, parts));
  return whole;
}

}  // namespace weft::gather
