#include "gather/flat/holder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::gather {

using plan::OpId;
using plan::Slice;

namespace {

void append(auto& list, const auto& more) {
  list.insert(list.end(), more.begin(), more.end());
}

/// The copies that take a message apart, one for each of its targets. A block waits for its own
/// alone: among thousands of blocks, as many for each would take seconds to plan.
class Copied {
 public:
  Copied(std::span<const Slice> targets, std::span<const OpId> copies)
      : targets_(targets), copies_(copies) {}

  /// Those of the next bytes of the message.
  Ops next(std::uint64_t bytes) {
    Ops ops;
    end_ += bytes;
    while (begin_ < end_) {
      ops.push_back(copies_[at_]);
      if (begin_ + targets_[at_].bytes() > end_) break;
      begin_ += targets_[at_++].bytes();
    }
    return ops;
  }

 private:
  std::span<const Slice> targets_;
  std::span<const OpId> copies_;
  std::size_t at_ = 0;
  std::uint64_t begin_ = 0;  // of the target, in the message
  std::uint64_t end_ = 0;    // of what was asked for
};

}  // namespace

std::vector<int> run_of(const Team& team, int first, int count) {
  std::vector<int> blocks;
  blocks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) blocks.push_back(team.around(first, i));
  return blocks;
}

std::vector<int> all_of(const Team& team) {
  std::vector<int> blocks(static_cast<std::size_t>(team.blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

Holder::Holder(plan::Builder& builder, const Team& team)
    : builder_(builder), team_(team), states_(static_cast<std::size_t>(team.blocks)) {}

Slices Holder::target(int block) const {
  const State& state = state_of(block);
  return state.kept.empty() ? team_.target(team_.self, block) : state.kept;
}

/// The blocks that a message to `member` has.
std::vector<int> Holder::missing(int member, std::span<const int> blocks) const {
  std::vector<int> result;
  for (const int block : blocks) {
    if (team_.bytes(block) > 0 && !team_.holds(member, block)) result.push_back(block);
  }
  return result;
}

Holder::State& Holder::load(int block) {
  State& state = state_of(block);
  if (!state.has && team_.holds(team_.self, block)) {
    state.has = true;
    state.place = team_.source(team_.self, block);
    state.ready = team_.ready_for(block);
  }
  return state;
}

void Holder::send(int to, std::span<const int> blocks) {
  const std::vector<int> sent = missing(to, blocks);
  Slices slices;
  std::uint64_t bytes = 0;
  for (const int block : sent) {
    append(slices, load(block).place);
    bytes += team_.bytes(block);
  }
  if (bytes == 0) return;
  slices = plan::coalesce(slices);
  const int peer = team_.members[to];
  if (slices.size() == 1) {
    Ops ready;
    for (const int block : sent) append(ready, state_of(block).ready);
    builder_.send(peer, slices.front(), ready);
    return;
  }
  const Slice packed = builder_.allocate_scratch(bytes);
  builder_.send(peer, packed, pack(packed, slices, sent));
}

/// Copies `slices`, where `blocks` lie one after the other, to one slice. As in a Copied, a copy
/// waits for the blocks that it has bytes of; and for the block that is there last, as its message
/// can be sent no sooner: copies for later messages would keep the core from this one's.
Ops Holder::pack(const Slice& packed, std::span<const Slice> slices, std::span<const int> blocks) {
  OpId last = 0;
  for (const int block : blocks) {
    for (const OpId op : state_of(block).ready) last = std::max(last, op);
  }
  Ops copies;
  auto block = blocks.begin();
  std::uint64_t end_of_block = 0;  // of the blocks before it
  std::uint64_t begin = 0;
  for (const Slice& slice : slices) {
    const std::uint64_t end = begin + slice.bytes();
    Ops ready;
    if (last != 0) ready.push_back(last);
    for (;; ++block) {
      const std::uint64_t end_of_this = end_of_block + team_.bytes(*block);
      append(ready, state_of(*block).ready);
      if (end_of_this > end) break;  // it goes on in the next slice
      end_of_block = end_of_this;
      if (end_of_block == end) {
        ++block;
        break;
      }
    }
    copies.push_back(builder_.copy(
        Slice::contiguous(packed.space, packed.owner, packed.offset + begin, slice.bytes()), slice,
        ready));
    begin = end;
  }
  return copies;
}

void Holder::receive(int from, std::span<const int> blocks) {
  const std::vector<int> wanted = missing(team_.self, blocks);
  std::vector<Slices> places;  // of these
  places.reserve(wanted.size());
  Slices targets;
  std::uint64_t bytes = 0;
  bool everywhere = true;
  for (const int block : wanted) {
    const Slices& slices = places.emplace_back(target(block));
    everywhere &= !slices.empty();
    append(targets, slices);
    bytes += team_.bytes(block);
  }
  if (bytes == 0) return;
  targets = plan::coalesce(targets);
  const bool in_place = everywhere && targets.size() == 1;
  const Slice whole = in_place ? targets.front() : builder_.allocate_scratch(bytes);
  const OpId received = builder_.recv(team_.members[from], whole);
  Ops copies;
  if (!in_place && everywhere) builder_.scatter(targets, whole, received, copies);
  Copied copied(targets, copies);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int block = wanted[i];
    State& state = state_of(block);
    Slices& slices = places[i];
    // Sent from the target where that is one slice, as it lies beside others there; else from where
    // it came, as it would have to be packed again.
    const bool from_target = slices.size() == 1;
    const bool is_copied = !in_place && !everywhere && !slices.empty();
    Slices piece;  // of the message
    if (is_copied || !from_target) piece = plan::subslices(whole, offset, team_.bytes(block));
    offset += team_.bytes(block);
    state.has = true;
    state.settled = true;
    if (is_copied) {
      builder_.copy(slices, piece, received, state.arrived);
    } else if (in_place || !everywhere) {
      state.arrived = {received};
    } else {
      state.arrived = copied.next(team_.bytes(block));
    }
    state.place = std::move(from_target ? slices : piece);
    state.ready = from_target ? state.arrived : Ops{received};
  }
}

void Holder::keep(std::span<const int> blocks) {
  std::uint64_t bytes = 0;
  for (const int block : blocks) {
    if (target(block).empty()) bytes += team_.bytes(block);
  }
  const Slice room = builder_.allocate_scratch(bytes);
  std::uint64_t offset = 0;
  for (const int block : blocks) {
    if (team_.bytes(block) == 0 || !target(block).empty()) continue;
    state_of(block).kept = plan::subslices(room, offset, team_.bytes(block));
    offset += team_.bytes(block);
  }
}

void Holder::settle(int block) {
  State& state = load(block);
  if (!state.has || state.settled || team_.bytes(block) == 0) return;
  state.settled = true;
  const Slices slices = target(block);
  state.arrived = state.ready;
  if (slices.empty() || slices == state.place) return;
  Ops copies;
  builder_.copy(slices, state.place, state.ready, copies);
  state.place = slices;
  if (!copies.empty()) state.arrived = copies;
  state.ready = state.arrived;
}

Arrived Holder::finish() && {
  Arrived arrived(states_.size());
  const Range held = team_.may_hold ? team_.may_hold(team_.self) : Range{0, team_.blocks};
  constexpr int kPage = Paged<State>::kPage;
  for (int first = 0; first < team_.blocks; first += kPage) {
    const bool is_known = states_.has_page_of(static_cast<std::size_t>(first));
    const int begin = is_known ? first : std::max(first, held.first);
    const int end = std::min({first + kPage, team_.blocks, is_known ? team_.blocks : held.last});
    for (int block = begin; block < end; ++block) {
      settle(block);
      Ops& ops = state_of(block).arrived;
      if (!ops.empty()) arrived[static_cast<std::size_t>(block)] = std::move(ops);
    }
  }
  return arrived;
}

}  // namespace weft::gather
