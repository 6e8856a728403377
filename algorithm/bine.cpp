#include "algorithm/bine.hpp"

#include <bit>
#include <cstdint>

namespace weft::algorithm {

BinePlace bine_place(int members, int member) {
  BinePlace place;
  int first = 0;
  int last = members;
  int head = bine_head(members);
  while (last - first > 1) {
    const int half = (last - first + 1) / 2;  // the one that the head stands in
    const int other = last - first - half;
    const bool is_low = head - first < half;
    const int seam = is_low ? first + half : last - half;
    const int other_head = is_low ? seam + bine_head(other) : seam - 1 - bine_head(other);
    if ((member < seam) == is_low) {
      if (member == head) place.children.push_back(other_head);
      (is_low ? last : first) = seam;
    } else {
      place.parent = head;
      head = other_head;
      (is_low ? first : last) = seam;
    }
  }
  return place;
}

BineButterfly::BineButterfly(int members)
    : members_(members),
      steps_(static_cast<int>(std::bit_width(static_cast<unsigned>(members))) - 1) {}

int BineButterfly::distance(int step) {
  const std::int64_t power = std::int64_t{2} << step;
  return static_cast<int>((1 - (step % 2 == 0 ? -power : power)) / 3);
}

int BineButterfly::partner(int member, int step) const {
  return around(member % 2 == 0 ? member + distance(step) : member - distance(step));
}

// From step i on an even member keeps its number modulo 2^i and its partners theirs less the
// distance: so the even one of the last step's pair tells all bits but the last, which is whose
// number is odd.
int BineButterfly::label(int member) const {
  if (members_ == 1) return 0;
  if (member % 2 == 0) return member / 2;
  return members_ / 2 + around(member - distance(steps_ - 1)) / 2;
}

int BineButterfly::member_of(int label) const {
  if (members_ == 1) return 0;
  const int even = 2 * (label % (members_ / 2));
  return label < members_ / 2 ? even : around(even + distance(steps_ - 1));
}

}  // namespace weft::algorithm
