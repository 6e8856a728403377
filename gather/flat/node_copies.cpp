// Any team inside one node without messages: a rank that wants a block copies it from where its
// holder has it, or the holder copies it to where it is wanted, and signals say when.
//
//   staged      holder: source -> its stage, signal;      wants: wait, stage -> target
//   direct      holder: signal;  wants: wait, source -> target, signal;  holder: wait
//   direct, push (gather: many holders, one target)
//               wants: signal;   holder: wait, source -> target, signal;  wants: wait
//
// A source that already is in a stage is copied from there, and a target that is in a stage is
// written by the holder: then one copy and one signal do, staged or direct.
//
// With P members, blocks of m bytes, n = P m:
//               broadcast        scatter           gather            allgather
//   signals     staged P - 1, direct 2 (P - 1); allgather P (P - 1), direct twice that
//   copied      staged: P n      2 (n - m) + m     2 (n - m) + m     P m + P n
//               direct: (P - 1) n      n                 n                 P n
//   stage       staged: root n   root n - m        all but root m    each m
// and nothing where the members are one.
//
// Source: the auxiliary collectives of Huang et al., "PiP-MColl: Process-in-Process-based
// Multi-object MPI Collectives", 2023, section III-C.
#include <algorithm>
#include <functional>
#include <optional>

#include "gather/flat/algorithms.hpp"

namespace weft::gather {

using plan::kNoOp;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

void add_all(auto& list, const auto& more) {
  list.insert(list.end(), more.begin(), more.end());
}

class NodeCopies {
 public:
  NodeCopies(plan::Builder& builder, const Team& team, CopyForm form)
      : builder_(builder),
        team_(team),
        direct_(form == CopyForm::direct),
        exposed_(static_cast<std::size_t>(team.blocks)),
        exposing_(exposed_.size(), false),
        arrived_(exposed_.size()) {
    for (int block = 0; block < team.blocks; ++block) {
      if (team.bytes(block) > 0) assign(block);
    }
    choose_way();
    // Around the members: not all deal with the same one first.
    std::ranges::sort(gives_, {}, [&](const Pair& pair) { return distance(pair.member); });
    std::ranges::sort(takes_, std::greater(),
                      [&](const Pair& pair) { return distance(pair.member); });
  }

  Arrived run() && {
    if (pushes_) {
      push();
    } else {
      pull();
    }
    return std::move(arrived_);
  }

 private:
  /// This member's dealings with another, in one direction.
  struct Pair {
    int member;
    std::vector<int> blocks = {};
    Ops moved = {};
  };

  struct Way {
    int block;
    int holder;
    int wanting;
  };

  int holder_of(int block) const {
    if (team_.holds(team_.root, block)) return team_.root;
    for (int member = 0; member < team_.size(); ++member) {
      if (team_.holds(member, block)) return member;
    }
    return -1;
  }

  bool wants(int member, int block) const {
    return !team_.holds(member, block) && team_.is_wanted(member, block);
  }

  /// Notes what this member has to do with the block. Whom else another holder gives it to does not
  /// matter once several are known to want.
  void assign(int block) {
    const int holder = holder_of(block);
    const bool gives = holder == team_.self;
    bool wanted = false;
    for (int member = 0; member < team_.size() && (gives || !wanted || one_wants_); ++member) {
      if (!wants(member, block)) continue;
      wanted = true;
      if (!first_) first_ = {block, holder, member};
      one_wants_ &= first_->wanting == member;
      one_holds_ &= first_->holder == holder;
      if (gives) of(gives_, member).push_back(block);
    }
    if (!gives && wants(team_.self, block)) of(takes_, holder).push_back(block);
    if (wanted) wanted_.push_back({block, holder, -1});
  }

  static std::vector<int>& of(std::vector<Pair>& pairs, int member) {
    const auto known = std::ranges::find(pairs, member, &Pair::member);
    return (known != pairs.end() ? *known : pairs.emplace_back(member)).blocks;
  }

  /// From this member to another, around the members.
  int distance(int member) const { return team_.around(member, -team_.self); }

  /// All members come to the same decision: what is true of one block is true of all.
  void choose_way() {
    if (!first_) return;
    const auto [block, holder, wanting] = *first_;
    const bool to_stage = team_.target(wanting, block).front().space == Space::stage;
    const bool from_stage = team_.source(holder, block).front().space == Space::stage;
    pushes_ = to_stage || (direct_ && one_wants_ && !one_holds_);
    handshake_ = direct_ && !to_stage && (pushes_ || !from_stage);
    const bool staged = !pushes_ && !direct_ && !from_stage;
    for (const Way& way : wanted_) {
      exposed_[way.block] =
          staged ? Slices{team_.stages->allocate(team_.members[way.holder], team_.bytes(way.block))}
                 : team_.source(way.holder, way.block);
      exposing_[way.block] = staged;
    }
  }

  void pull() {
    for (Pair& pair : gives_) {
      Ops ready;
      for (const int block : pair.blocks) add_all(ready, expose(block));
      builder_.signal(team_.members[pair.member], ready);
    }
    settle();
    for (Pair& pair : takes_) {
      const OpId there = builder_.wait(team_.members[pair.member]);
      Slices targets;
      Slices sources;
      for (const int block : pair.blocks) {
        add_all(targets, team_.target(team_.self, block));
        add_all(sources, exposed_[block]);
      }
      builder_.copy(targets, sources, there, pair.moved);
      for (const int block : pair.blocks) arrived_[block] = pair.moved;
    }
    if (!handshake_) return;
    for (const Pair& pair : takes_) builder_.signal(team_.members[pair.member], pair.moved);
    for (const Pair& pair : gives_) builder_.wait(team_.members[pair.member]);
  }

  /// The ops after which others may read the block.
  const Ops& expose(int block) {
    Ops& ready = arrived_[block];
    if (exposing_[block]) {
      exposing_[block] = false;
      Ops copies;
      builder_.copy(exposed_[block], team_.source(team_.self, block), team_.ready_for(block),
                    copies);
      ready = copies;
    } else if (ready.empty()) {
      ready = team_.ready_for(block);
    }
    return ready;
  }

  void push() {
    if (handshake_) {
      for (const Pair& pair : takes_) builder_.signal(team_.members[pair.member]);
    }
    for (Pair& pair : gives_) {
      const int peer = team_.members[pair.member];
      Ops ready = {handshake_ ? builder_.wait(peer) : kNoOp};
      Slices targets;
      Slices sources;
      for (const int block : pair.blocks) {
        add_all(ready, team_.ready_for(block));
        add_all(targets, team_.target(pair.member, block));
        add_all(sources, team_.source(team_.self, block));
      }
      builder_.copy(targets, sources, ready, pair.moved);
      builder_.signal(peer, pair.moved);
    }
    settle();
    for (const Pair& pair : takes_) {
      const OpId there = builder_.wait(team_.members[pair.member]);
      for (const int block : pair.blocks) arrived_[block] = {there};
    }
  }

  /// What this member holds and wants elsewhere.
  void settle() {
    for (int block = 0; block < team_.blocks; ++block) {
      if (team_.bytes(block) == 0 || !team_.holds(team_.self, block)) continue;
      const Slices target = team_.target(team_.self, block);
      const Slices source = team_.source(team_.self, block);
      arrived_[block] = team_.ready_for(block);
      if (target.empty() || target == source) continue;
      Ops copies;
      builder_.copy(target, source, arrived_[block], copies);
      arrived_[block] = copies;
    }
  }

  plan::Builder& builder_;
  const Team& team_;
  const bool direct_;
  bool pushes_ = false;
  bool handshake_ = false;
  bool one_wants_ = true;
  bool one_holds_ = true;
  std::optional<Way> first_;
  std::vector<Way> wanted_;  // by anybody
  std::vector<Pair> gives_;
  std::vector<Pair> takes_;
  std::vector<Slices> exposed_;  // by block: where others read it
  std::vector<bool> exposing_;   // by block: still to be copied there, by its holder
  Arrived arrived_;
};

}  // namespace

Arrived copy_inside_node(plan::Builder& builder, const Team& team, CopyForm form) {
  return NodeCopies(builder, team, form).run();
}

}  // namespace weft::gather
