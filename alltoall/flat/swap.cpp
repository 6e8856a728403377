#include "alltoall/flat/swap.hpp"

#include <algorithm>

#include "base/cast.hpp"

namespace weft::alltoall {

using plan::OpId;
using plan::Slice;

namespace {

struct Segment {
  int peer;
  Slice slice;
};

std::vector<Segment> segments(int self, int ranks, const Digits& order,
                              const std::function<Slice(int peer)>& block) {
  std::vector<Segment> list;
  for (int step = 0; step < order.steps(); ++step) {
    const int peer = order.subtract(step, self);
    if (peer == self || peer >= ranks) continue;
    const Slice whole = block(peer);
    for (std::uint64_t at = 0; at < whole.bytes(); at += kSwapSegmentBytes) {
      const std::uint64_t bytes = std::min(kSwapSegmentBytes, whole.bytes() - at);
      list.push_back({peer, Slice::contiguous(whole.space, whole.owner, whole.offset + at, bytes)});
    }
  }
  return list;
}

}  // namespace

void swap_blocks(plan::Builder& builder, const Digits& order, int window,
                 const std::function<Slice(int peer)>& block) {
  const auto list = segments(builder.rank(), builder.ranks(), order, block);
  if (list.empty()) return;
  std::uint64_t largest = 0;
  for (const Segment& segment : list) largest = std::max(largest, segment.slice.bytes());
  const std::uint64_t slot = round_up(largest, plan::kSliceAlignment);
  std::size_t slots = std::min<std::size_t>(list.size(), kSwapScratchBytes / slot);
  if (window > 0) slots = std::min(slots, static_cast<std::size_t>(window));
  const Slice scratch = builder.allocate_scratch(slots * slot);
  std::vector<OpId> done;  // by segment: it is in its place
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& [peer, slice] = list[i];
    const OpId before = i < slots ? plan::kNoOp : done[i - slots];
    const Slice held = Slice::contiguous(scratch.space, scratch.owner,
                                         scratch.offset + i % slots * slot, slice.bytes());
    const OpId received = builder.recv(peer, held, before);
    const OpId sent = builder.send(peer, slice, before);
    done.push_back(builder.copy(slice, held, {received, sent}));
  }
}

}  // namespace weft::alltoall
