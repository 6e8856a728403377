// De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
// Locality", SC 2025: bytes over the links between groups of nodes, counted in the plans.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "nic_profiles/profile.hpp"
#include "sim/simulator.hpp"
#include "tests/papers/page.hpp"
#include "tests/registry/plans.hpp"

namespace weft::papers::bine_test {
namespace {

using hierarchy::Machine;
using plan::Collective;

struct Message {
  int from;
  int to;
  std::uint64_t bytes;
};

plan::Problem problem_of(Collective collective, int nodes, std::uint64_t bytes) {
  const bool in_parts =
      collective == Collective::allgather || collective == Collective::reduce_scatter;
  const std::uint64_t each = in_parts ? bytes / static_cast<std::uint64_t>(nodes) / 8 * 8 : bytes;
  plan::Problem problem{collective, nodes, each, each};
  problem.element_bytes = is_reduction(collective) ? sizeof(double) : 1;
  return problem;
}

std::vector<Message> messages_of(const std::string& algorithm, const plan::Problem& problem,
                                 const Machine& machine) {
  std::vector<Message> messages;
  const auto plans = registry::plan_source(algorithm, problem, machine);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const plan::Plan plan = plans(rank);
    for (const plan::Op& op : plan.ops()) {
      if (op.kind == plan::OpKind::send) messages.push_back({rank, op.peer, op.src.bytes()});
    }
  }
  return messages;
}

/// Bytes from group to group, on the mean over all places of the first group at which a job may
/// begin whose nodes follow one another.
double bytes_between_groups(const std::vector<Message>& messages, int group) {
  std::uint64_t sum = 0;
  for (int first = 0; first < group; ++first) {
    for (const Message& one : messages) {
      if ((first + one.from) / group != (first + one.to) / group) sum += one.bytes;
    }
  }
  return static_cast<double>(sum) / group;
}

struct Case {
  Collective collective;
  const char* usual;
  const char* bine;
};

constexpr std::uint64_t kBytes = 1 << 20;  // of the vector, or of all blocks

/// Microseconds on a tree of switches of `group` nodes with a quarter of the uplinks.
double us(const char* algorithm, const plan::Problem& problem, const Machine& machine, int group) {
  auto hardware = nic_profiles::load("omni-path-100").hardware;
  hardware.adapter.receiver_first = true;
  hardware.adapter.eager_bytes = 8192;
  hardware.fabric.nodes_per_leaf = group;
  hardware.fabric.uplinks_per_leaf = group / 4;
  const auto plans = registry::plan_source(algorithm, problem, machine);
  return sim::simulate(plans, machine, hardware).time_ns / 1e3;
}

TEST(Bine, SendsFewerBytesBetweenGroups) {
  constexpr Case kCases[] = {
      {Collective::broadcast, "binomial", "bine"},
      {Collective::reduce, "binomial", "bine"},
      {Collective::allgather, "doubling", "bine"},
      {Collective::reduce_scatter, "recursive-halving", "bine"},
      {Collective::allreduce, "halving-doubling", "bine"},
      {Collective::allreduce, "recursive-doubling", "bine-doubling"},
  };
  struct Groups {
    const char* of;
    int nodes;
    int group;
  };
  constexpr Groups kGroups[] = {
      {"fat tree, leaves of 16", 64, 16},     {"fat tree, leaves of 18", 128, 18},
      {"fat tree, leaves of 18", 100, 18},    {"dragonfly, groups of 124", 128, 124},
      {"dragonfly, groups of 124", 256, 124}, {"dragonfly, groups of 180", 256, 180}};
  Table table("bine-bytes", {"collective", "nodes", "network"},
              {"bytes between groups, of one vector", "simulated, a quarter of the uplinks, us"});
  for (const Groups& where : kGroups) {
    const auto machine = Machine::uniform(where.nodes, 1);
    for (const Case& one : kCases) {
      const auto problem = problem_of(one.collective, where.nodes, kBytes);
      const auto bytes = [&](const char* algorithm) {
        return bytes_between_groups(messages_of(algorithm, problem, machine), where.group) / kBytes;
      };
      const double usual = bytes(one.usual);
      const double bine = bytes(one.bine);
      const double saved = 1 - bine / usual;
      table.row({std::string(to_string(one.collective)), std::to_string(where.nodes), where.of},
                "fewer, by up to 33 %", Status::predicted,
                {fmt::format("{} {}, {} {}: {}", one.usual, number(usual), one.bine, number(bine),
                             percent(saved)),
                 saved > 0},
                list({{one.usual, us(one.usual, problem, machine, where.group)},
                      {one.bine, us(one.bine, problem, machine, where.group)}}));
    }
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::bine_test
