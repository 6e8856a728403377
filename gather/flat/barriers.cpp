#include "gather/flat/barriers.hpp"

namespace weft::gather {

using plan::OpId;

void Notes::tell(int member, plan::After after) {
  const int peer = group_.members[member];
  if (group_.near(member)) {
    builder_.signal(peer, after);
    return;
  }
  if (byte_.empty()) byte_ = builder_.allocate_scratch(1);
  builder_.send(peer, byte_, after);
}

OpId Notes::hear(int member) {
  const int peer = group_.members[member];
  if (group_.near(member)) return builder_.wait(peer);
  return builder_.recv(peer, builder_.allocate_scratch(1));
}

void leave_last(plan::Builder& builder, const BarrierGroup& group, int member,
                const Ops& all_are_here) {
  Notes notes(builder, group);
  if (group.self != member) return notes.tell(member, all_are_here);
  for (int distance = 1; distance < group.size(); ++distance) {
    notes.hear(group.around(member, distance));
  }
}

}  // namespace weft::gather
