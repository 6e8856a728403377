#include "alltoall/schemes/gathering.hpp"

#include <algorithm>

namespace weft::alltoall {

using plan::After;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

bool are_alike(std::span<const Slice> slices) {
  return std::ranges::all_of(
      slices, [&](const Slice& slice) { return slice.bytes() == slices.front().bytes(); });
}

}  // namespace

void Gathering::run(hierarchy::InsideNode& inside) {
  const auto written =
      inside.collect({.any = [this](int from, int to) { return any(from, to); },
                      .copy = [this](int from, int to, After after,
                                     std::vector<OpId>& done) { copy(from, to, after, done); }});
  ready_.insert(ready_.end(), written.begin(), written.end());
  if (!layout_.has_relays()) return;
  relayed_.insert(relayed_.end(), written.begin(), written.end());
  pass_on(inside);
}

bool Gathering::any(int from, int to) const {
  for (const Post& post : layout_.posts()) {
    const Member& own = post.member();
    if (!post.gathers) continue;
    const Relay* relay = layout_.relay(post, from);
    if ((relay != nullptr ? relay->via : own.rank) != to) continue;
    if (!is_one_of(own.senders, from)) continue;
    for (std::size_t i = 0; i < post.out.size(); ++i) {
      if (post.out[i].bytes == 0) continue;
      if (layout_.slot()) return true;
      for (const int target : (*post.lane)[i].receivers) {
        if (layout_.out_bytes(from, target) > 0) return true;
      }
    }
  }
  return false;
}

void Gathering::copy(int from, int to, After after, std::vector<OpId>& done) {
  if (layout_.has_relays()) copy(from, to, true, after, done);
  copy(from, to, false, after, done);
}

/// Lines of one size join into few copies. Others go one by one, so that a message need not wait
/// for all of them, nor, in place, what replaces them.
void Gathering::copy(int from, int to, bool to_relays, After after, std::vector<OpId>& done) {
  targets_.clear();
  sources_.clear();
  lines_.clear();
  for (const Post& post : layout_.posts()) {
    const Member& own = post.member();
    if (!post.gathers) continue;
    const Relay* relay = layout_.relay(post, from);
    if ((relay != nullptr) != to_relays || (to_relays ? relay->via : own.rank) != to) continue;
    if (is_one_of(own.senders, from)) add_lines(post, from, relay);
  }
  const bool own = to == builder_.rank();
  if (blocks_.in_place() || (own && !are_alike(targets_))) {
    copy_lines(own, to_relays, after, done);
  } else {
    copy_joined(own, to_relays, after, done);
  }
}

/// What `from` has for each message of a post: its line there, or on the way there.
void Gathering::add_lines(const Post& post, int from, const Relay* relay) {
  const int owner = relay != nullptr ? relay->via : post.member().rank;
  const auto senders = relay != nullptr ? relay->sources : post.member().senders;
  const auto before = senders.first(
      static_cast<std::size_t>(std::ranges::lower_bound(senders, from) - senders.begin()));
  for (std::size_t i = 0; i < post.out.size(); ++i) {
    if (post.out[i].bytes == 0) continue;
    const auto receivers = (*post.lane)[i].receivers;
    const std::uint64_t offset = layout_.out_room(before, receivers) +
                                 (relay != nullptr ? relay->out[i].offset : post.out[i].offset);
    const std::size_t first = sources_.size();
    const std::size_t first_target = targets_.size();
    std::uint64_t bytes = 0;
    for (const int target : receivers) {
      const std::uint64_t length = layout_.out_bytes(from, target);
      if (length > 0) {
        const Slice source = blocks_.source(from, target);
        // Of thousands of blocks most lie side by side.
        if (sources_.size() == first || !join(sources_.back(), source)) sources_.push_back(source);
        if (layout_.slot()) {
          targets_.push_back(Slice::contiguous(Space::stage, owner, offset + bytes, length));
        }
      }
      bytes += layout_.out_room(from, target);
    }
    if (sources_.size() == first) continue;
    if (!layout_.slot()) {
      targets_.push_back(Slice::contiguous(Space::stage, owner, offset, bytes));
    }
    lines_.push_back({&post, i, targets_.size() - first_target, sources_.size() - first});
  }
}

void Gathering::copy_joined(bool own, bool to_relays, After after, std::vector<OpId>& done) {
  const auto first = static_cast<std::ptrdiff_t>(done.size());
  builder_.copy(targets_, sources_, after, done);
  auto& followed = to_relays ? relayed_ : ready_;
  if (own) followed.insert(followed.end(), done.begin() + first, done.end());
}

void Gathering::copy_lines(bool own, bool to_relays, After after, std::vector<OpId>& done) {
  std::span<const Slice> targets = targets_;
  std::span<const Slice> sources = sources_;
  std::vector<OpId> copies;
  for (const Line& line : lines_) {
    copies.clear();
    builder_.copy(targets.first(line.targets), sources.first(line.sources), after, copies);
    targets = targets.subspan(line.targets);
    sources = sources.subspan(line.sources);
    done.insert(done.end(), copies.begin(), copies.end());
    if (own && to_relays) relayed_.insert(relayed_.end(), copies.begin(), copies.end());
    if (own && !to_relays) make_ready(line, copies);
    if (!blocks_.in_place()) continue;
    for (const int target : (*line.post->lane)[line.message].receivers) {
      copied_out_[target] = copies;
    }
  }
}

void Gathering::pass_on(hierarchy::InsideNode& inside) {
  const auto passed = inside.pass_on(
      {.any = [this](int from, int to) { return passes_any(from, to); },
       .copy = [this](int from, int to, After, std::vector<OpId>& done) { pass(from, to, done); }});
  ready_.insert(ready_.end(), passed.begin(), passed.end());
}

bool Gathering::passes_any(int from, int to) const {
  for (const Post& post : layout_.posts()) {
    if (post.member().rank != to) continue;
    const Relay* relay = layout_.relay(post, from);
    if (relay == nullptr || relay->via != from) continue;
    for (const Message& message : relay->out) {
      if (message.bytes > 0) return true;
    }
  }
  return false;
}

void Gathering::pass(int from, int to, std::vector<OpId>& done) {
  targets_.clear();
  sources_.clear();
  for (const Post& post : layout_.posts()) {
    if (post.member().rank != to) continue;
    const Relay* relay = layout_.relay(post, from);
    if (relay != nullptr && relay->via == from) add_passed(post, *relay);
  }
  builder_.copy(targets_, sources_, relayed_, done);
}

/// Of each message what a relay has: as a whole there, and line by line among those of all sources.
void Gathering::add_passed(const Post& post, const Relay& relay) {
  const Member& own = post.member();
  for (std::size_t i = 0; i < relay.out.size(); ++i) {
    if (relay.out[i].bytes == 0) continue;
    sources_.push_back(
        Slice::contiguous(Space::stage, relay.via, relay.out[i].offset, relay.out[i].bytes));
    std::uint64_t offset = post.out[i].offset;
    for (const int source : own.senders) {
      const std::uint64_t bytes = layout_.out_room({&source, 1}, (*post.lane)[i].receivers);
      if (bytes > 0 && is_one_of(relay.sources, source)) {
        targets_.push_back(Slice::contiguous(Space::stage, own.rank, offset, bytes));
      }
      offset += bytes;
    }
  }
}

void Gathering::make_ready(const Line& line, std::span<const OpId> copies) {
  const auto post = static_cast<std::size_t>(line.post - layout_.posts().data());
  if (ready_of_.size() <= post) ready_of_.resize(layout_.posts().size());
  if (ready_of_[post].empty()) ready_of_[post].resize(line.post->lane->size(), kEnd);
  std::uint32_t& first = ready_of_[post][line.message];
  for (const OpId copy : copies) {
    ready_ops_.push_back({copy, first});
    first = static_cast<std::uint32_t>(ready_ops_.size() - 1);
  }
}

void Gathering::add_ready(const Post& post, int to, std::vector<OpId>& ops) const {
  const auto number = static_cast<std::size_t>(&post - layout_.posts().data());
  if (number < ready_of_.size() && !ready_of_[number].empty()) {
    for (auto at = ready_of_[number][static_cast<std::size_t>(to)]; at != kEnd;
         at = ready_ops_[at].next) {
      ops.push_back(ready_ops_[at].op);
    }
  }
  ops.insert(ops.end(), ready_.begin(), ready_.end());
}

void Gathering::add_vacated(std::span<const int> sources, std::vector<OpId>& ops) const {
  if (!blocks_.in_place()) return;
  for (const int source : sources) {
    ops.insert(ops.end(), copied_out_[source].begin(), copied_out_[source].end());
  }
}

}  // namespace weft::alltoall
