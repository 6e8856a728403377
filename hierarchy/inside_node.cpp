#include "hierarchy/inside_node.hpp"

#include "base/cast.hpp"

namespace weft::hierarchy {

using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

/// Between slots: with a limit that is a power of two all slots would begin in the same sets of a
/// cache.
constexpr std::uint64_t kSkew = 64;

std::uint64_t slot_bytes_of(const LocalBlocks& blocks, bool direct, std::uint64_t limit) {
  if (direct || blocks.constant_bytes() || limit == InsideNode::kNoLimit) return 0;
  return round_up(limit, plan::kSliceAlignment) + kSkew;
}

}  // namespace

InsideNode::InsideNode(plan::Builder& builder, const LocalBlocks& blocks, const Machine& machine,
                       bool direct, std::uint64_t limit, bool slots)
    : builder_(builder),
      blocks_(blocks),
      machine_(machine),
      direct_(direct && !blocks.in_place()),
      limit_(limit),
      slot_bytes_(slots ? slot_bytes_of(blocks, direct_, limit) : 0),
      self_(builder.rank()),
      peers_(peers_of(machine, builder.rank())) {}

std::uint64_t InsideNode::staged_bytes(int from, int to) const {
  const std::uint64_t bytes = from == to ? 0 : blocks_.sent_bytes(from, to);
  return leaves(bytes) ? 0 : bytes;
}

std::uint64_t InsideNode::stage_bytes(int owner) const {
  if (direct_) return 0;
  if (slot_bytes_ > 0) return peers_.size() * slot_bytes_;
  std::uint64_t bytes = 0;
  for (const int peer : machine_.ranks_on(blocks_.node())) bytes += staged_bytes(owner, peer);
  return round_up(bytes, plan::kSliceAlignment);
}

void InsideNode::open(const std::function<bool(int from, int to)>& collects) {
  if (inputs_) return;
  inputs_.emplace(builder_, peers_, [&](int from, int to) {
    return blocks_.sent_bytes(from, to) > 0 || (collects && collects(from, to));
  });
}

std::vector<OpId> InsideNode::collect(const Moves& moves) {
  if (!direct_) return push(builder_, peers_, moves);
  open(moves.any);
  inputs_->read(moves);
  return {};
}

std::vector<OpId> InsideNode::pass_on(const Moves& moves) {
  return push(builder_, peers_, moves);
}

void InsideNode::exchange_blocks() {
  if (direct_) return exchange_direct();
  slot_bytes_ > 0 ? exchange_in_slots() : exchange_staged();
}

void InsideNode::exchange_direct() {
  open({});
  inputs_->read({.any = [this](int from, int to) { return blocks_.sent_bytes(from, to) > 0; },
                 .copy =
                     [this](int from, int to, plan::After after, std::vector<OpId>& done) {
                       done.push_back(builder_.copy(blocks_.target(to, from),
                                                    blocks_.source(from, to), after));
                     }});
  inputs_->close();
}

void InsideNode::exchange_staged() {
  const auto local = machine_.ranks_on(blocks_.node());
  std::vector<Slice> sources;  // by the peers' places
  std::uint64_t bytes = 0;
  for (const int peer : local) {
    const std::uint64_t length = staged_bytes(self_, peer);
    if (length > 0) sources.push_back(blocks_.source(self_, peer));
    bytes += length;
  }
  std::vector<OpId> staged;
  builder_.gather(Slice::contiguous(Space::stage, self_, 0, bytes), sources, {}, staged);
  const auto copy = [&](int from, int to, plan::After after, std::vector<OpId>& done) {
    std::uint64_t offset = 0;
    for (const int rank : local) {
      if (rank == to) break;
      offset += staged_bytes(from, rank);
    }
    const Slice slot = Slice::contiguous(Space::stage, from, offset, staged_bytes(from, to));
    const plan::After vacated = blocks_.in_place() ? plan::After(staged) : plan::After();
    done.push_back(builder_.copy(blocks_.target(to, from), slot, plan::After(after, vacated)));
  };
  pull(builder_, peers_,
       {.any = [this](int from, int to) { return staged_bytes(from, to) > 0; }, .copy = copy},
       staged);
  if (!blocks_.in_place()) {
    builder_.copy(blocks_.target(self_, self_), blocks_.source(self_, self_));
  }
}

Slice InsideNode::slot(int from, int to, std::uint64_t bytes) const {
  const int place = machine_.place_of(to);
  const auto number =
      static_cast<std::uint64_t>(place < machine_.place_of(from) ? place : place - 1);
  return Slice::contiguous(Space::stage, from, number * slot_bytes_, bytes);
}

/// Of the blocks of other ranks this reads only those that this rank receives.
void InsideNode::exchange_in_slots() {
  std::vector<OpId> told(peers_.size(), plan::kNoOp);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (staged_bytes(self_, peers_[i]) == 0) continue;
    const Slice source = blocks_.source(self_, peers_[i]);
    told[i] =
        builder_.signal(peers_[i], builder_.copy(slot(self_, peers_[i], source.bytes()), source));
  }
  if (!blocks_.in_place()) {
    builder_.copy(blocks_.target(self_, self_), blocks_.source(self_, self_));
  }
  for (std::size_t i = peers_.size(); i-- > 0;) {  // the peers before this rank start with it
    const std::uint64_t bytes = blocks_.received_bytes(self_, peers_[i]);
    if (bytes == 0 || leaves(bytes)) continue;
    const Slice target = blocks_.target(self_, peers_[i]);
    const OpId come = builder_.wait(peers_[i]);
    const OpId vacated = blocks_.in_place() ? told[i] : plan::kNoOp;
    builder_.copy(target, slot(peers_[i], self_, target.bytes()), {come, vacated});
  }
}

void InsideNode::distribute(const Moves& moves, plan::After ready) {
  pull(builder_, peers_, moves, ready);
}

}  // namespace weft::hierarchy
