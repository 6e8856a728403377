// Barrier around an extended ring: a note goes from member to member, once around and on, so that
// the last member knows first that all have come, and the others as the note passes again.
//
//   p = 4    0 -> 1 -> 2 -> 3 -> 0 -> 1 -> 2
//            have come          may leave
//
// With p members:
//   rounds    2 (p - 1)
//   messages  2 of each member, 1 of the last two; 2 (p - 1) in all
//
// Source: Vadhiyar, Fagg, Dongarra, "Towards an Accurate Model for Collective Communications",
// IJHPCA 18(1), 2004, Table 1.
#include "gather/flat/barriers.hpp"

namespace weft::gather {

Ops ring_barrier(plan::Builder& builder, const BarrierGroup& group) {
  const int p = group.size();
  Ops known = group.ready;
  if (p == 1) return known;
  Notes notes(builder, group);
  const int next = group.around(group.self, 1);
  const int before = group.around(group.self, -1);
  if (group.self > 0) known.push_back(notes.hear(before));
  notes.tell(next, known);
  if (group.self == p - 1) return known;
  known = {notes.hear(before)};
  if (group.self < p - 2) notes.tell(next, known);
  return known;
}

}  // namespace weft::gather
