#include "tune/bound.hpp"

#include <algorithm>
#include <vector>

namespace weft::tune {

using plan::Op;
using plan::OpKind;

namespace {

double over(std::uint64_t bytes, double rate) {
  return rate > 0 ? static_cast<double>(bytes) / rate : 0;
}

class Core {
 public:
  Core(const sim::Hardware& hardware)
      : adapter_(hardware.adapter),
        copy_start_ns_(hardware.node.copy_start_ns),
        best_rate_(std::max({hardware.node.cached_bytes_per_ns, hardware.node.memory_bytes_per_ns,
                             hardware.node.fresh_bytes_per_ns})),
        cached_rate_(hardware.node.cached_bytes_per_ns),
        reduce_rate_(hardware.node.reduce_bytes_per_ns) {}

  /// How long an op keeps the core busy.
  double time_ns(const Op& op, bool remote) const {
    const std::uint64_t bytes = op.kind == OpKind::send ? op.src.bytes() : op.dst.bytes();
    const bool asks = bytes > adapter_.eager_bytes;
    switch (op.kind) {
      case OpKind::send:
        if (!remote) return asks ? over(bytes, best_rate_) : copy_ns(op);
        // A large message takes two control words, whichever end sends the first.
        return adapter_.post_ns * (asks ? 2 : 1) + adapter_.poll_ns / 2 +
               (bytes <= adapter_.pio_bytes ? over(bytes, adapter_.pio_bytes_per_ns) : 0);
      case OpKind::recv:
        if (remote && asks) {
          return adapter_.poll_ns + (adapter_.receiver_first ? adapter_.post_ns : adapter_.poll_ns);
        }
        if (remote) return adapter_.poll_ns + over(bytes, adapter_.take_bytes_per_ns);
        return asks ? 0 : copy_start_ns_ * blocks(op.dst) + over(bytes, cached_rate_);
      case OpKind::copy:
        return copy_ns(op);
      case OpKind::reduce:
        return over(bytes, reduce_rate_);
      case OpKind::signal:
      case OpKind::wait:
        return 0;
    }
    return 0;
  }

 private:
  static double blocks(const plan::Slice& slice) {
    return slice.empty() ? 1 : static_cast<double>(slice.count);
  }
  double copy_ns(const Op& op) const {
    return copy_start_ns_ * std::max(blocks(op.src), op.kind == OpKind::copy ? blocks(op.dst) : 1) +
           over(op.src.bytes(), best_rate_);
  }

  const sim::Adapter& adapter_;
  double copy_start_ns_;
  double best_rate_;
  double cached_rate_;
  double reduce_rate_;
};

/// Messages and bytes through one adapter.
struct Traffic {
  std::uint64_t sent = 0;  // messages
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  int senders = 0;  // ranks

  Traffic with(const Traffic& more, std::uint64_t times = 1) const {
    return {sent + more.sent * times, sent_bytes + more.sent_bytes * times,
            received_bytes + more.received_bytes * times,
            senders + more.senders * static_cast<int>(times)};
  }
  Traffic shared_by(std::uint64_t rails) const {
    return {sent / rails, sent_bytes / rails, received_bytes / rails,
            senders / static_cast<int>(rails)};
  }
  std::uint64_t bytes() const { return sent_bytes + received_bytes; }

  double time_ns(const sim::Adapter& adapter, double most) const {
    const double out = std::max(static_cast<double>(sent - std::min<std::uint64_t>(sent, 1)) *
                                    adapter.message_gap_ns / most,
                                over(sent_bytes, adapter.bytes_per_ns * most));
    const double in = over(received_bytes, adapter.bytes_per_ns);
    const double both = over(sent_bytes + received_bytes, adapter.both_ways_bytes_per_ns * most);
    const bool limits_both = adapter.both_ways_bytes_per_ns > 0 &&
                             adapter.both_ways_bytes_per_ns < 2 * adapter.bytes_per_ns;
    return std::max({out, in, limits_both ? both : 0});
  }
};

/// The largest factor by which the senders' total rate changes, for up to `senders` of them.
double best_scaling(const sim::Scaling& scaling, int senders) {
  double best = 1;
  for (int count = 1; count <= senders; ++count) best = std::max(best, scaling.at(count));
  return best;
}

// So many pairs of ranks are gone through in the time of one simulated op, and so many ranks are
// listed, as each plan of a machine does.
constexpr std::uint64_t kPairsAnOp = 8;
constexpr std::uint64_t kListedAnOp = 4096;

// Where plans have more ops than this, fewer ranks are looked at.
constexpr std::uint64_t kLongPlan = 1 << 13;
constexpr int kMostOfLongPlans = 2;

/// What ranks of a node do.
struct Work {
  explicit Work(int rail_count) : rails(static_cast<std::size_t>(std::max(1, rail_count))) {}

  void add(const plan::Plan& plan, const hierarchy::Machine& machine, const Core& core) {
    const auto rail_of = [&](int rank) -> Traffic& {
      return rails[static_cast<std::size_t>(machine.place_of(rank)) % rails.size()];
    };
    double busy_ns = 0;
    bool sends_away = false;
    for (const Op& op : plan.ops()) {
      const bool sends = op.kind == OpKind::send;
      const bool remote =
          (sends || op.kind == OpKind::recv) && !machine.same_node(op.peer, plan.rank());
      busy_ns += core.time_ns(op, remote);
      if (!remote) continue;
      sends_away |= sends;
      crosses = true;
      // A message uses its sender's rail at both ends.
      Traffic& rail = rail_of(sends ? plan.rank() : op.peer);
      rail.sent += sends;
      (sends ? rail.sent_bytes : rail.received_bytes) += sends ? op.src.bytes() : op.dst.bytes();
    }
    rail_of(plan.rank()).senders += sends_away;
    ops += plan.ops().size();
    busiest_ns = std::max(busiest_ns, busy_ns);
    ++ranks;
  }

  void add(const Work& other) {
    for (std::size_t i = 0; i < rails.size(); ++i) rails[i] = rails[i].with(other.rails[i]);
    ranks += other.ranks;
    ops += other.ops;
    busiest_ns = std::max(busiest_ns, other.busiest_ns);
    crosses |= other.crosses;
  }

  /// Through all rails.
  Traffic all() const {
    Traffic sum;
    for (const Traffic& rail : rails) sum = sum.with(rail);
    return sum;
  }

  std::uint64_t ranks = 0;
  std::uint64_t ops = 0;
  double busiest_ns = 0;
  bool crosses = false;
  std::vector<Traffic> rails;
};

int node_to_look_at(const plan::Problem& problem, const hierarchy::Machine& machine) {
  if (is_rooted(problem.collective)) return machine.node_of(problem.root);
  int widest = 0;
  for (int node = 1; node < machine.nodes(); ++node) {
    if (machine.ranks_on(node).size() > machine.ranks_on(widest).size()) widest = node;
  }
  return widest;
}

}  // namespace

Bound bound(const Algorithm& algorithm, const plan::Problem& problem,
            const hierarchy::Machine& machine, const sim::Hardware& hardware, int most_ranks) {
  const auto ranks = machine.ranks_on(node_to_look_at(problem, machine));
  const int count = static_cast<int>(ranks.size());
  const int first = is_rooted(problem.collective) ? machine.place_of(problem.root) : 0;
  const Core core(hardware);
  // The first one may be the root or a leader, and stands for itself alone.
  Work of_first(hardware.rails);
  of_first.add(algorithm.plan(problem, machine, ranks[static_cast<std::size_t>(first)]), machine,
               core);
  Work of_others(hardware.rails);
  Traffic lightest;
  const bool is_long = most_ranks < count && of_first.ops > kLongPlan;
  const int others = std::min(is_long ? kMostOfLongPlans : most_ranks, count) - 1;
  for (int i = 0; i < others; ++i) {
    // Not evenly from the first on: what comes in powers of two, as leaders, would count too much.
    const int place = (first + 1 + (5 * i + 2) * (count - 1) / (5 * others)) % count;
    Work of_one(hardware.rails);
    of_one.add(algorithm.plan(problem, machine, ranks[static_cast<std::size_t>(place)]), machine,
               core);
    if (i == 0 || of_one.all().bytes() < lightest.bytes()) lightest = of_one.all();
    of_others.add(of_one);
  }
  const sim::Adapter& adapter = hardware.adapter;
  const double most = best_scaling(adapter.senders, count);
  const auto rest = static_cast<std::uint64_t>(count - 1);
  const auto looked_at = std::max<std::uint64_t>(1, of_others.ranks);
  Bound result;
  result.time_ns = std::max(of_first.busiest_ns, of_others.busiest_ns);
  result.likely_ns = result.time_ns;
  for (std::size_t i = 0; i < of_first.rails.size(); ++i) {
    const Traffic rail = of_first.rails[i].with(of_others.rails[i]);
    result.time_ns = std::max(result.time_ns, rail.time_ns(adapter, most));
  }
  // All ranks that are looked at may send by one rail: taken together, rails share evenly.
  const Traffic share = of_first.all().with(lightest, rest).shared_by(of_first.rails.size());
  const double rate = best_scaling(adapter.senders, share.senders);
  result.likely_ns = std::max(result.likely_ns, share.time_ns(adapter, rate));
  if (of_first.crosses || of_others.crosses) {
    result.time_ns = std::max(result.time_ns, adapter.latency_ns);
  }
  result.likely_ns = std::max(result.likely_ns, result.time_ns);
  const auto all = static_cast<std::uint64_t>(machine.ranks());
  const std::uint64_t of_node = of_first.ops + of_others.ops * rest / looked_at;
  result.ops = of_node * all / ranks.size() + all * all / kListedAnOp;
  if (has_blocks_of_all(problem.collective)) result.ops += all * all / kPairsAnOp;
  return result;
}

}  // namespace weft::tune
