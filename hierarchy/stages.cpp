#include "hierarchy/stages.hpp"

#include "base/cast.hpp"

namespace weft::hierarchy {

using plan::Slice;

Slice Stages::allocate(int owner, std::uint64_t bytes) {
  if (owner == builder_.rank()) return builder_.allocate_stage(bytes);
  std::uint64_t& used = used_[owner];
  const Slice slice = Slice::contiguous(plan::Space::stage, owner, used, bytes);
  used = round_up(used + bytes, plan::kSliceAlignment);
  return slice;
}

}  // namespace weft::hierarchy
