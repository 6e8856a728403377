#include "plan/verify/matching.hpp"

#include <tuple>

#include "base/cast.hpp"

namespace weft::plan {

OpTable::OpTable(std::span<const Plan> plans) : plans_(plans) {
  std::size_t total = 0;
  for (const Plan& plan : plans) total += plan.ops().size();
  checked_cast<std::int32_t>(total);  // two events an op must fit into 32 bits
  rank_.reserve(total);
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    first_.push_back(static_cast<OpId>(rank_.size()));
    rank_.insert(rank_.end(), plans[rank].ops().size(), static_cast<int>(rank));
  }
}

namespace {

/// The two ends of the channel that an op uses: from the sender or signaller to the other.
struct Channel {
  int from;
  int to;
  bool operator==(const Channel&) const = default;
};

Channel channel_of(const OpTable& ops, OpId op) {
  const bool source = ops[op].kind == OpKind::send || ops[op].kind == OpKind::signal;
  return source ? Channel{ops.rank(op), ops[op].peer} : Channel{ops[op].peer, ops.rank(op)};
}

/// Stable, in linear time.
template <class Key>
std::vector<OpId> counting_sort(const std::vector<OpId>& list, int ranks, Key key) {
  std::vector<std::size_t> place(static_cast<std::size_t>(ranks) + 1);
  for (const OpId op : list) ++place[static_cast<std::size_t>(key(op)) + 1];
  for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  std::vector<OpId> sorted(list.size());
  for (const OpId op : list) sorted[place[static_cast<std::size_t>(key(op))]++] = op;
  return sorted;
}

/// All ops of `kind`, channel by channel (by receiver, then by sender), each channel's in order.
std::vector<OpId> by_channel(const OpTable& ops, OpKind kind) {
  std::vector<OpId> list;
  for (OpId op = 0; op < ops.size(); ++op) {
    if (ops[op].kind == kind) list.push_back(op);
  }
  list = counting_sort(list, ops.ranks(), [&](OpId op) { return channel_of(ops, op).from; });
  return counting_sort(list, ops.ranks(), [&](OpId op) { return channel_of(ops, op).to; });
}

void link_previous(const OpTable& ops, const std::vector<OpId>& list, Matching& matching) {
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (channel_of(ops, list[i - 1]) == channel_of(ops, list[i])) {
      matching.previous[list[i]] = list[i - 1];
    }
  }
}

/// Walks two lists in channel order and joins their k-th elements of each channel.
void join_lists(const OpTable& ops, const std::vector<OpId>& sources,
                const std::vector<OpId>& targets, Matching& matching) {
  link_previous(ops, sources, matching);
  link_previous(ops, targets, matching);
  const auto key = [&](OpId op) {
    const Channel channel = channel_of(ops, op);
    return std::tuple(channel.to, channel.from);
  };
  std::size_t s = 0;
  std::size_t t = 0;
  while (s < sources.size() && t < targets.size()) {
    const OpId source = sources[s];
    const OpId target = targets[t];
    if (key(source) == key(target)) {
      matching.partner[source] = target;
      matching.partner[target] = source;
      if (ops[source].src.bytes() != ops[target].dst.bytes()) matching.unequal.push_back(target);
      ++s, ++t;
    } else if (key(source) < key(target)) {
      matching.unmatched.push_back(sources[s++]);
    } else {
      matching.unmatched.push_back(targets[t++]);
    }
  }
  while (s < sources.size()) matching.unmatched.push_back(sources[s++]);
  while (t < targets.size()) matching.unmatched.push_back(targets[t++]);
}

}  // namespace

Matching match(const OpTable& ops) {
  Matching matching;
  matching.partner.assign(ops.size(), kNoOp);
  matching.previous.assign(ops.size(), kNoOp);
  matching.sends = by_channel(ops, OpKind::send);
  join_lists(ops, matching.sends, by_channel(ops, OpKind::recv), matching);
  join_lists(ops, by_channel(ops, OpKind::signal), by_channel(ops, OpKind::wait), matching);
  return matching;
}

}  // namespace weft::plan
