// The closed forms of alltoallv at the head of each scheme, against what its plans cost: sums over
// the counts, worked out here from the ranks that each leader speaks for.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <set>

#include "alltoall/flat/swap.hpp"
#include "tests/alltoall/cost_support.hpp"
#include "tests/alltoall/counts.hpp"

namespace weft::alltoall::vector_cost_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using plan::Problem;

constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// One message between nodes: the blocks of `sources` for `targets`.
struct Wire {
  std::vector<int> sources;
  std::vector<int> targets;
  int sender;
  int receiver;
};

/// The groups of a node's ranks when at most `count` of them speak, 0 for all.
std::vector<std::vector<int>> groups_of(const Machine& machine, int node, int count) {
  const auto ranks = machine.ranks_on(node);
  const int total = static_cast<int>(ranks.size());
  const int groups = count == 0 ? total : std::min(count, total);
  std::vector<std::vector<int>> result(static_cast<std::size_t>(groups));
  int next = 0;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < total / groups + (group < total % groups ? 1 : 0); ++i) {
      result[group].push_back(ranks[next++]);
    }
  }
  return result;
}

/// The messages of a scheme, from what the head of its file says.
std::vector<Wire> wires_of(std::string_view scheme, const Machine& machine, int width) {
  std::vector<Wire> wires;
  for (int from = 0; from < machine.nodes(); ++from) {
    for (int to = 0; to < machine.nodes(); ++to) {
      if (from == to) continue;
      const auto here = groups_of(machine, from, width);
      const auto there = groups_of(machine, to, width);
      const auto all_here = groups_of(machine, from, 1).front();
      const auto all_there = groups_of(machine, to, 1).front();
      for (std::size_t x = 0; scheme == "sa" && x < there.size(); ++x) {
        wires.push_back({all_here, there[x], here[x % here.size()].front(), there[x].front()});
      }
      for (std::size_t x = 0; scheme == "rd" && x < here.size(); ++x) {
        wires.push_back({here[x], all_there, here[x].front(), there[x % there.size()].front()});
      }
      for (std::size_t g = 0; scheme == "leader" && g < here.size(); ++g) {
        for (const auto& group : there) {
          wires.push_back({here[g], group, here[g].front(), group.front()});
        }
      }
    }
  }
  return wires;
}

/// What each rank's plan must cost, with isend between nodes.
class Expected {
 public:
  Expected(const Problem& problem, const Machine& machine, bool direct, std::uint64_t limit)
      : problem_(problem),
        machine_(machine),
        direct_(direct && !problem.in_place),
        limit_(limit),
        ranks_(static_cast<std::size_t>(machine.ranks())) {}

  std::vector<plan::Cost> costs(const std::vector<Wire>& wires) && {
    for (const Wire& wire : wires) add(wire);
    for (int from = 0; from < problem_.ranks; ++from) {
      for (int to = 0; to < problem_.ranks; ++to) add_pair(from, to);
    }
    for (const auto& [from, to] : copies_) {
      ++ranks_[from].cost.signals;
      if (direct_) ++ranks_[to].cost.signals;
    }
    for (const auto& [from, to] : hands_) ++ranks_[from].cost.signals;
    std::vector<plan::Cost> result;
    const bool in_slots = machine_.nodes() == 1 && !direct_ && limit_ != kNoLimit;
    for (Rank& rank : ranks_) {
      if (in_slots) rank.inside = (ranks_.size() - 1) * (rounded(limit_) + 64);
      rank.cost.stage_bytes = rounded(rank.inside) + rounded(rank.out) + rounded(rank.in);
      result.push_back(rank.cost);
    }
    return result;
  }

 private:
  struct Rank {
    plan::Cost cost;
    std::uint64_t inside = 0, out = 0, in = 0;
  };

  std::uint64_t small(int from, int to) const {
    const std::uint64_t bytes = problem_.sent(from, to).bytes;
    return bytes <= limit_ ? bytes : 0;
  }

  void add(const Wire& wire) {
    const bool gathers = problem_.in_place || wire.sources != std::vector{wire.sender};
    const bool distributes = wire.targets != std::vector{wire.receiver};
    std::uint64_t total = 0;
    for (const int from : wire.sources) {
      for (const int to : wire.targets) {
        const std::uint64_t bytes = small(from, to);
        if (bytes == 0) continue;
        total += bytes;
        if (gathers) ranks_[direct_ ? wire.sender : from].cost.copied_bytes += bytes;
        if (gathers && from != wire.sender) copies_.insert({from, wire.sender});
        if (distributes) ranks_[to].cost.copied_bytes += bytes;
        if (distributes && to != wire.receiver) hands_.insert({wire.receiver, to});
      }
    }
    if (total == 0) return;
    ++ranks_[wire.sender].cost.messages;
    ranks_[wire.sender].cost.wire_bytes += total;
    if (gathers) ranks_[wire.sender].out += total;
    if (distributes) ranks_[wire.receiver].in += total;
  }

  void add_pair(int from, int to) {
    const std::uint64_t bytes = problem_.sent(from, to).bytes;
    const bool local = machine_.same_node(from, to);
    plan::Cost& sender = ranks_[from].cost;
    plan::Cost& receiver = ranks_[to].cost;
    if (from == to) {
      if (!problem_.in_place) sender.copied_bytes += bytes;
    } else if (bytes > limit_ && !(local && direct_)) {
      const std::uint64_t segments =
          problem_.in_place ? (bytes + kSwapSegmentBytes - 1) / kSwapSegmentBytes : 1;
      (local ? sender.local_messages : sender.messages) += segments;
      (local ? sender.local_bytes : sender.wire_bytes) += bytes;
      if (problem_.in_place) receiver.copied_bytes += bytes;
    } else if (local && bytes > 0) {
      copies_or_hands(from, to);
      if (!direct_) sender.copied_bytes += bytes, ranks_[from].inside += bytes;
      receiver.copied_bytes += bytes;
    }
  }

  /// A signal of its own where it is staged; where it is read, that of the pair.
  void copies_or_hands(int from, int to) {
    direct_ ? void(copies_.insert({from, to})) : void(++ranks_[from].cost.signals);
  }

  const Problem& problem_;
  const Machine& machine_;
  const bool direct_;
  const std::uint64_t limit_;
  std::vector<Rank> ranks_;
  std::set<std::pair<int, int>> copies_;  // whose input goes into whose stage, or is read
  std::set<std::pair<int, int>> hands_;   // out of whose stage into whose output
};

std::string difference(const plan::Cost& cost, const plan::Cost& expected) {
  std::string text;
  const auto compare = [&](std::string_view what, std::uint64_t is, std::uint64_t should) {
    if (is != should) text += fmt::format("{} {}, expected {}; ", what, is, should);
  };
  compare("messages", cost.messages, expected.messages);
  compare("wire bytes", cost.wire_bytes, expected.wire_bytes);
  compare("local messages", cost.local_messages, expected.local_messages);
  compare("local bytes", cost.local_bytes, expected.local_bytes);
  // What is packed and unpacked because it does not lie side by side is on top.
  const bool packs = cost.scratch_bytes > 0 && cost.copied_bytes > expected.copied_bytes;
  if (!packs) compare("copied", cost.copied_bytes, expected.copied_bytes);
  compare("stage", cost.stage_bytes, expected.stage_bytes);
  compare("signals", cost.signals, expected.signals);
  return text;
}

struct Setting {
  std::string text;
  std::uint64_t limit = kNoLimit;
};

Setting any_limit() {
  const std::array<Setting, 4> settings = {
      {{"", kNoLimit}, {",aggregate=30", 30}, {",aggregate=0", 0}, {",aggregate=65536", 65536}}};
  return settings.at(*rc::gen::inRange<std::size_t>(0, settings.size()).as("aggregate"));
}

void check_scheme(std::string_view scheme) {
  const Machine machine = any_machine(24);
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  const Problem problem = any_alltoallv(machine.ranks(), in_place);
  const bool leads = scheme == "leader";
  const int width = *rc::gen::inRange(leads ? 1 : 0, 7).as("leaders or cores");
  const bool direct = *rc::gen::arbitrary<bool>().as("direct");
  const Setting setting = any_limit();
  std::string name = fmt::format("{}:direct={}", scheme, direct ? 1 : 0);
  if (width > 0) name += fmt::format(",{}={}", leads ? "leaders" : "cores", width);
  const Algorithm algorithm = parse(name + setting.text);
  const auto sheet =
      plan::cost_sheet(machine.node_of_rank(), plans_of(algorithm, problem, machine));
  const auto expected =
      Expected(problem, machine, direct, setting.limit).costs(wires_of(scheme, machine, width));
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const std::string text = difference(sheet.by_rank[rank], expected[rank]);
    if (!text.empty()) {
      RC_FAIL(
          fmt::format("{} on {}, rank {}: {}", algorithm.name(), to_string(machine), rank, text));
    }
  }
  if (!in_place) RC_ASSERT(sheet.rounds == (sheet.total.messages > 0 ? 1u : 0u));
  const auto bound = algorithm.memory_bound(machine, 0);
  RC_ASSERT(bound.has_value() == (setting.limit != kNoLimit));
  for (int rank = 0; bound && rank < machine.ranks(); ++rank) {
    const auto most = *algorithm.memory_bound(machine, rank);
    RC_ASSERT(sheet.by_rank[rank].stage_bytes <= most.stage_bytes);
    RC_ASSERT(sheet.by_rank[rank].scratch_bytes <= most.scratch_bytes);
  }
}

TEST(VectorCost, OfSendAggregationIsTheClosedForm) {
  check_property([] { check_scheme("sa"); }, 300);
}

TEST(VectorCost, OfReceiveDistributionIsTheClosedForm) {
  check_property([] { check_scheme("rd"); }, 300);
}

TEST(VectorCost, OfLeadersIsTheClosedForm) {
  check_property([] { check_scheme("leader"); }, 300);
}

RC_GTEST_PROP(VectorCost, OfFlatAlgorithmsIsAMessageForEachBlockThatIsNotEmpty, ()) {
  const Machine machine = any_machine(20);
  const Problem problem = any_alltoallv(machine.ranks(), false);
  for (const char* name : {"isend", "isend:window=2", "pairwise-ring", "pairwise-xor", "fat-tree",
                           "fat-tree:arity=3"}) {
    const auto sheet =
        plan::cost_sheet(machine.node_of_rank(), plans_of(parse(name), problem, machine));
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      plan::Cost expected;
      for (int to = 0; to < machine.ranks(); ++to) {
        const std::uint64_t bytes = problem.sent(rank, to).bytes;
        const bool local = machine.same_node(rank, to);
        if (to == rank) expected.copied_bytes += bytes;
        if (to == rank || bytes == 0) continue;
        ++(local ? expected.local_messages : expected.messages);
        (local ? expected.local_bytes : expected.wire_bytes) += bytes;
      }
      RC_ASSERT(difference(sheet.by_rank[rank], expected) == "");
      RC_ASSERT(sheet.by_rank[rank].scratch_bytes == 0u);
    }
  }
}

// The figures at the head of slots.hpp: those of an alltoall of slots, and a message for each
// larger block.
RC_GTEST_PROP(VectorCost, OfSlotsIsThatOfAnAlltoallOfSlotsAndTheLargerBlocks, ()) {
  const auto machine = Machine::uniform(*rc::gen::inRange(1, 40).as("nodes"), 1);
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  const Problem problem = any_alltoallv(machine.ranks(), in_place);
  const int radix = *rc::gen::element(2, 3, 4, 8).as("radix");
  const auto slot = *rc::gen::element<std::uint64_t>(0, 1, 8, 64, 100).as("slot");
  const auto algorithm =
      Algorithm::parse(Collective::alltoallv, fmt::format("bruck:radix={},slot={}", radix, slot));
  const auto sheet =
      plan::cost_sheet(machine.node_of_rank(), plans_of(algorithm, problem, machine));
  const auto slots = plan::cost_sheet(machine.node_of_rank(),
                                      plans_of(parse(fmt::format("bruck:radix={}", radix)),
                                               Problem::alltoall(machine.ranks(), slot), machine));
  RC_ASSERT(sheet.rounds >= slots.rounds);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const plan::Cost& cost = sheet.by_rank[rank];
    std::uint64_t large = 0, large_bytes = 0, small_bytes = 0;
    for (int other = 0; other < machine.ranks(); ++other) {
      const std::uint64_t sent = problem.sent(rank, other).bytes;
      if (sent <= slot || other == rank) {
        small_bytes += sent + problem.received(rank, other).bytes;
      } else {
        ++large, large_bytes += sent;
      }
    }
    // In place larger blocks are swapped in segments.
    if (!in_place) RC_ASSERT(cost.messages == slots.by_rank[rank].messages + large);
    RC_ASSERT(cost.wire_bytes == slots.by_rank[rank].wire_bytes + large_bytes);
    const std::uint64_t most_copied = 2 * slots.by_rank[rank].wire_bytes + 3 * small_bytes;
    RC_ASSERT(cost.copied_bytes <= most_copied + (in_place ? large_bytes * 2 : 0));
    RC_ASSERT(cost.stage_bytes == 0u);
    RC_ASSERT(cost.scratch_bytes <= algorithm.memory_bound(machine, rank)->scratch_bytes);
  }
}

// Between nodes a scheme in slots sends what it sends in an alltoall of slots, and a message for
// each larger block.
RC_GTEST_PROP(VectorCost, OfSchemesInSlotsIsThatOfAnAlltoallOfSlotsAndTheLargerBlocks, ()) {
  const auto machine = hierarchy::any_machine(16);
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  const Problem problem = any_alltoallv(machine.ranks(), in_place);
  const auto scheme = *rc::gen::element<std::string>("sa", "sa:cores=2", "rd", "leader",
                                                     "leader:leaders=2", "two-step")
                           .as("scheme");
  const int radix = *rc::gen::element(2, 3, 8).as("radix");
  const auto slot = *rc::gen::element<std::uint64_t>(0, 1, 8, 100).as("slot");
  const auto plain = fmt::format("{}{}between=bruck,radix={}", scheme,
                                 scheme.find(':') == scheme.npos ? ':' : ',', radix);
  const auto algorithm = Algorithm::parse(Collective::alltoallv,
                                          fmt::format("{},slot={},aggregate=8192", plain, slot));
  const auto sheet =
      plan::cost_sheet(machine.node_of_rank(), plans_of(algorithm, problem, machine));
  Problem blocks = Problem::alltoall(machine.ranks(), slot);
  blocks.in_place = in_place;
  const auto slots =
      plan::cost_sheet(machine.node_of_rank(), plans_of(parse(plain), blocks, machine));
  RC_ASSERT(algorithm.needs_own_rows_only(machine));
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const plan::Cost& cost = sheet.by_rank[rank];
    std::uint64_t large = 0, large_bytes = 0;
    for (int other = 0; other < machine.ranks(); ++other) {
      const std::uint64_t sent = problem.sent(rank, other).bytes;
      if (sent <= slot || machine.same_node(rank, other)) continue;
      ++large, large_bytes += sent;
    }
    if (!in_place) RC_ASSERT(cost.messages == slots.by_rank[rank].messages + large);
    RC_ASSERT(cost.wire_bytes == slots.by_rank[rank].wire_bytes + large_bytes);
    const auto bound = algorithm.memory_bound(machine, rank);
    RC_ASSERT(cost.stage_bytes <= bound->stage_bytes);
    RC_ASSERT(cost.scratch_bytes <= bound->scratch_bytes);
  }
}

}  // namespace
}  // namespace weft::alltoall::vector_cost_test
