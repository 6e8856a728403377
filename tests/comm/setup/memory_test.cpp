// Memory that calls take beside the caller's buffers: as much as the cost sheet says, within the
// bounds that settings give. Ranks are processes, so that each can look at the memory that it made.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/cast.hpp"
#include "base/error_types.hpp"
#include "engine/node/shared_memory.hpp"
#include "engine/program/inline_messages.hpp"
#include "plan/inspect/cost_sheet.hpp"
#include "registry/variants.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "verbs/connection/rc_wire.hpp"
#include "weft/weft.hpp"

namespace weft::memory_test {
namespace {

using hierarchy::Machine;
using nlohmann::json;
using plan::Collective;

constexpr std::size_t kPage = 4096;
constexpr std::array kMachines = {"1x3", "1x4", "2x2", "1+3+2", "0,1,0,1,2", "3x2:cyclic"};

/// The first shared memory that this process has made under this name; empty where there is none.
std::vector<std::byte> made(const std::string& label) {
  const auto blocks = engine::SharedMemory::created(label);
  if (blocks.empty()) return {};
  return {blocks.front().begin(), blocks.front().end()};
}

/// The size of stages, both halves, for what the neediest rank needs of a half.
std::uint64_t stage_for(std::uint64_t need, std::uint64_t most) {
  constexpr std::uint64_t kLeast = 8 << 10;
  const std::uint64_t half = std::min(std::max(most, need), std::max(kLeast, std::bit_ceil(need)));
  return 2 * round_up(half, kPage);
}

/// One past the last byte that is not 0.
std::size_t used(std::span<const std::byte> bytes) {
  const auto last = std::ranges::find_if(bytes.rbegin(), bytes.rend(),
                                         [](std::byte byte) { return byte != std::byte{0}; });
  return static_cast<std::size_t>(bytes.rend() - last);
}

struct Draw {
  std::string machine;
  plan::Problem problem;
  std::string algorithm;
  std::uint64_t stage_bytes = 0;  // WEFT_STAGE
  bool in_place = false;          // as the caller asks for it

  std::uint64_t half() const { return stage_bytes / 2; }
  bool is_vector() const { return problem.collective == Collective::alltoallv; }
};

/// Blocks of alltoallv: many are empty, few are large; in place both ways of a pair are alike.
void draw_blocks(Draw& draw, std::mt19937& random) {
  const int ranks = draw.problem.ranks;
  std::vector<std::vector<std::uint64_t>> sizes(ranks, std::vector<std::uint64_t>(ranks));
  for (auto& row : sizes) {
    for (auto& bytes : row) {
      const auto kind = random() % 8;
      bytes = kind < 2 ? 0 : kind < 7 ? random() % 3000 : random() % 40000;
    }
  }
  const auto row = [&](int rank, bool sends) {
    std::vector<plan::Block> blocks;
    std::uint64_t end = 0;
    for (int other = 0; other < ranks; ++other) {
      const bool turn = draw.in_place ? rank < other : !sends;
      blocks.push_back({end, turn ? sizes[other][rank] : sizes[rank][other]});
      end += blocks.back().bytes;
    }
    return blocks;
  };
  draw.problem.in_place = draw.in_place;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!draw.in_place) draw.problem.sends.push_back(row(rank, true));
    draw.problem.receives.push_back(row(rank, false));
  }
}

Draw any_draw(Collective collective, unsigned seed) {
  std::mt19937 random(seed);
  Draw draw;
  draw.machine = kMachines[random() % kMachines.size()];
  const int ranks = Machine::parse(draw.machine).ranks();
  const auto algorithms = registry::variants(collective, ranks);
  draw.algorithm = algorithms[random() % algorithms.size()].name();
  draw.stage_bytes = random() % 2 == 0 ? 64 << 10 : 2 << 20;
  draw.in_place = random() % 2 == 0;
  draw.problem = plan::Problem::alltoall(ranks, 0);
  draw.problem.collective = collective;
  if (draw.is_vector()) {
    draw_blocks(draw, random);
    return draw;
  }
  // Smaller blocks go in inline messages and not through stages.
  const std::uint64_t most = random() % 3 == 0 ? 300000 : 3000;
  draw.problem.block_bytes = draw.problem.stride =
      engine::kInlineBytes + 1 + random() % (most - engine::kInlineBytes);
  draw.problem.in_place =
      draw.in_place && static_cast<std::uint64_t>(ranks) * draw.problem.block_bytes > draw.half();
  return draw;
}

std::vector<Part> parts_of(const std::vector<plan::Block>& blocks) {
  std::vector<Part> parts;
  for (const plan::Block& block : blocks) parts.push_back({block.offset, block.bytes});
  return parts;
}

void call(Communicator& comm, const Draw& draw) {
  const plan::Problem& problem = draw.problem;
  std::vector<std::byte> input(problem.input_bytes(comm.rank()), std::byte{0xff});
  std::vector<std::byte> output(problem.output_bytes(comm.rank()), std::byte{0xff});
  if (!draw.is_vector()) {
    const void* in = draw.in_place ? output.data() : input.data();
    return comm.alltoall(in, output.data(), problem.block_bytes);
  }
  const auto receives = parts_of(problem.receives[comm.rank()]);
  if (draw.in_place) return comm.alltoallv(nullptr, {}, output.data(), receives);
  comm.alltoallv(input.data(), parts_of(problem.sends[comm.rank()]), output.data(), receives);
}

/// The memory that a rank has taken for one call, by its statistics and as it is mapped.
std::string take(const Draw& draw) {
  Communicator comm(tcp_bootstrap());
  call(comm, draw);
  const Statistics statistics = comm.statistics();
  const auto stage = made("weft-stage");
  const auto scratch = made("weft-scratch");
  // Executions take the halves in turn, and before a node's first alltoallv there are none, or two:
  // that there are new counts, and which.
  const std::size_t half = stage.size() / 2;
  const bool is_staged = !stage.empty();
  return json{{"other",
               test::other_than(draw.algorithm, draw.is_vector() ? "alltoallv" : "alltoall", comm)},
              {"algorithm", statistics.entries.front().algorithm},
              {"stage", stage.size()},
              {"stage_said", statistics.stage_bytes},
              {"stage_used", is_staged ? used(std::span(stage).subspan(half)) : 0},
              {"scratch", scratch.size()},
              {"scratch_said", statistics.scratch_bytes},
              {"scratch_used", used(scratch)},
              {"aside", statistics.aside_bytes},
              {"connections", statistics.connections},
              {"connection_bytes", statistics.channel_bytes}}
      .dump();
}

std::string describe(const Draw& draw) {
  return draw.algorithm + " on " + draw.machine + ", blocks of " +
         std::to_string(draw.problem.block_bytes) + (draw.in_place ? " in place" : "") +
         ", WEFT_STAGE=" + std::to_string(draw.stage_bytes);
}

std::vector<json> run(const Draw& draw) {
  const std::string variable = draw.is_vector() ? "WEFT_ALLTOALLV" : "WEFT_ALLTOALL";
  std::vector<json> ranks;
  for (const auto& ended : test::run_processes(draw.problem.ranks,
                                               {{"WEFT_NODES", draw.machine},
                                                {"WEFT_DEVICE", "soft"},
                                                {"WEFT_STAGE", std::to_string(draw.stage_bytes)},
                                                {variable, draw.algorithm}},
                                               [&](int) { return take(draw); })) {
    auto said = json::parse(ended.said, nullptr, false);
    EXPECT_FALSE(said.is_discarded()) << describe(draw) << ": " << ended.said;
    if (said.is_discarded()) return {};
    EXPECT_EQ(said["other"], "") << describe(draw);
    ranks.push_back(std::move(said));
  }
  return ranks;
}

plan::CostSheet sheet_of(const Draw& draw, const std::string& algorithm) {
  const auto machine = Machine::parse(draw.machine);
  const auto chosen = registry::Algorithm::parse(draw.problem.collective, algorithm);
  std::vector<plan::Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(chosen.plan(draw.problem, machine, rank));
  }
  return plan::cost_sheet(machine.node_of_rank(), plans);
}

/// What a rank has once all have agreed on its first call: what the largest call of the size class
/// needs, and the barrier before later agreements.
struct Agreed {
  std::uint64_t scratch_bytes = 0;
  std::uint64_t connections = 0;
  std::uint64_t packed_stage = 0;  // bytes of stage where pieces begin anywhere
};

std::set<int> remote_peers(const plan::Plan& plan, const Machine& machine) {
  std::set<int> peers;
  for (const plan::Op& op : plan.ops()) {
    const bool transfers = op.kind == plan::OpKind::send || op.kind == plan::OpKind::recv;
    if (transfers && machine.node_of(op.peer) != machine.node_of(plan.rank()))
      peers.insert(op.peer);
  }
  return peers;
}

plan::Plan barrier_of(const Machine& machine, int rank) {
  plan::Problem problem = plan::Problem::alltoall(machine.ranks(), 0);
  problem.collective = Collective::barrier;
  const char* name = machine.nodes() == 1 ? "dissemination" : "leader";
  return registry::Algorithm::parse(Collective::barrier, name).plan(problem, machine, rank);
}

Agreed agreed_on(const Draw& draw, const std::string& algorithm, int rank,
                 const plan::Cost& largest) {
  const auto machine = Machine::parse(draw.machine);
  const auto chosen = registry::Algorithm::parse(draw.problem.collective, algorithm);
  const auto barrier = barrier_of(machine, rank);
  auto peers = remote_peers(chosen.plan(draw.problem, machine, rank), machine);
  peers.merge(remote_peers(barrier, machine));
  return {std::max(largest.scratch_bytes, barrier.scratch_bytes()), peers.size()};
}

/// Bytes of stage that a plan of a family takes, where nothing is rounded up: as those of the plan
/// for blocks so many times as large as what plans round up to.
std::uint64_t packed_stage(const Draw& draw, int rank) {
  plan::Problem larger = draw.problem;
  larger.block_bytes = larger.stride = plan::kSliceAlignment * draw.problem.block_bytes;
  const auto algorithm = registry::Algorithm::parse(draw.problem.collective, draw.algorithm)
                             .in_proportion(larger.block_bytes, draw.problem.block_bytes, 1);
  return algorithm.plan(larger, Machine::parse(draw.machine), rank).stage_bytes() /
         plan::kSliceAlignment;
}

/// `in_slots`: blocks lie in slots of the same size whatever theirs is, and small ones are not
/// there.
void expect_as_on_the_sheet(const json& rank, const plan::Cost& cost, const Agreed& agreed,
                            bool in_slots = false) {
  EXPECT_EQ(rank["stage_said"], rank["stage"]);
  EXPECT_LE(rank["stage_used"], cost.stage_bytes);
  if (!in_slots) {
    // All of it, but for what makes pieces begin at multiples of 64.
    EXPECT_GT(rank["stage_used"].get<std::uint64_t>() + plan::kSliceAlignment, agreed.packed_stage);
  }
  EXPECT_EQ(rank["scratch"], round_up(agreed.scratch_bytes, kPage));
  EXPECT_EQ(rank["scratch_said"], rank["scratch"]);
  EXPECT_LE(rank["scratch_used"], cost.scratch_bytes);
  EXPECT_EQ(rank["connections"], agreed.connections);
  EXPECT_EQ(rank["connection_bytes"], agreed.connections * verbs::RcWire::memory_bytes());
}

TEST(Memory, OfAnAlltoallIsWhatTheCostSheetSays) {
  int wholes = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Draw draw = any_draw(Collective::alltoall, seed);
    SCOPED_TRACE(describe(draw));
    const auto sheet = sheet_of(draw, draw.algorithm);
    const auto most_of = [](const plan::CostSheet& of, auto bytes) {
      return std::ranges::max(of.by_rank, {}, bytes).*bytes;
    };
    Draw largest = draw;
    largest.problem.block_bytes = largest.problem.stride = std::bit_ceil(draw.problem.block_bytes);
    const auto class_sheet = sheet_of(largest, draw.algorithm);
    // Where the largest of the class is cut, stages are the largest, and others may be cut, too.
    const std::uint64_t most_stage = most_of(class_sheet, &plan::Cost::stage_bytes);
    const bool whole = most_stage <= draw.half();
    wholes += whole ? 1 : 0;
    const auto ranks = run(draw);
    const std::uint64_t blocks = draw.problem.output_bytes(0);
    const std::uint64_t aside = draw.in_place && blocks <= draw.half() ? blocks : 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const json& taken = ranks[rank];
      // Slices fill the largest stages; the first ones are there when nobody needs them, too.
      const std::uint64_t stage = whole ? stage_for(most_stage, draw.half()) : draw.stage_bytes;
      EXPECT_EQ(taken["stage"], stage);
      EXPECT_EQ(taken["aside"], aside);
      EXPECT_LE(taken["stage_used"], draw.half());
      if (!whole) continue;
      const plan::Cost& of_class = class_sheet.by_rank[rank];
      auto agreed = agreed_on(draw, draw.algorithm, static_cast<int>(rank), of_class);
      agreed.packed_stage = packed_stage(draw, static_cast<int>(rank));
      expect_as_on_the_sheet(taken, sheet.by_rank[rank], agreed);
    }
  }
  EXPECT_GT(wholes, 10);
  EXPECT_LT(wholes, 40);
}

TEST(Memory, OfAnAlltoallvIsWhatTheCostSheetSays) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Draw draw = any_draw(Collective::alltoallv, seed);
    SCOPED_TRACE(describe(draw));
    const auto ranks = run(draw);
    if (ranks.empty()) continue;
    const std::string algorithm = ranks.front()["algorithm"];
    const auto sheet = sheet_of(draw, algorithm);
    const auto machine = Machine::parse(draw.machine);
    // The rows of all ranks' blocks go through stages, too.
    std::uint64_t need = 2 * sizeof(plan::Block) * ranks.size();
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      const auto bound =
          registry::Algorithm::parse(Collective::alltoallv, algorithm).memory_bound(machine, rank);
      if (bound) need = std::max(need, bound->stage_bytes);
    }
    const bool in_slots =
        machine.nodes() == 1 || algorithm.find("between=bruck") != std::string::npos;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks[rank]["stage"], stage_for(need, draw.half()));
      EXPECT_EQ(ranks[rank]["aside"], 0);
      const plan::Cost& cost = sheet.by_rank[rank];
      auto agreed = agreed_on(draw, algorithm, static_cast<int>(rank), cost);
      agreed.packed_stage = cost.stage_bytes;
      expect_as_on_the_sheet(ranks[rank], cost, agreed, in_slots);
    }
  }
}

// A vector that is reduced in place is copied aside a part at a time, whatever its length.
TEST(Memory, OfReductionsInPlaceIsBounded) {
  constexpr int kRanks = 3;
  constexpr std::size_t kElements = (20 << 20) / sizeof(std::uint32_t) + 12'345;
  constexpr std::uint64_t kMost = 8 << 20;
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    const auto sum = operation(Operator::sum, Type::uint32);
    const auto mine = [](int of, std::size_t i) {
      return static_cast<std::uint32_t>(i * 3 + static_cast<std::size_t>(of) * 1000);
    };
    const auto reduce_first = [&](int ranks, const auto& call) {
      std::vector<std::uint32_t> data(kElements);
      for (std::size_t i = 0; i < kElements; ++i) data[i] = mine(rank, i);
      call(data.data());
      for (std::size_t i = 0; i < kElements; ++i) {
        std::uint32_t expected = 0;
        for (int of = 0; of < ranks; ++of) expected += mine(of, i);
        if (data[i] != expected) return false;
      }
      return true;
    };
    if (!reduce_first(kRanks, [&](auto* data) { comm.allreduce(data, data, kElements, sum); }))
      return "allreduce";
    if (!reduce_first(rank + 1, [&](auto* data) { comm.scan(data, data, kElements, sum); }))
      return "scan";
    if (rank == 1 &&
        !reduce_first(kRanks, [&](auto* data) { comm.reduce(data, data, kElements, sum, 1); }))
      return "reduce";
    if (rank != 1) {
      std::vector<std::uint32_t> data(kElements);
      for (std::size_t i = 0; i < kElements; ++i) data[i] = mine(rank, i);
      comm.reduce(data.data(), nullptr, kElements, sum, 1);
    }
    const std::uint64_t aside = comm.statistics().aside_bytes;
    return aside > 0 && aside <= kMost ? "right" : std::to_string(aside) + " bytes aside";
  };
  for (const char* view : {"cma", "staged"}) {
    for (const auto& end : test::run_processes(kRanks, {{"WEFT_VIEW", view}}, body)) {
      EXPECT_EQ(end.said, "right") << view;
    }
  }
}

}  // namespace
}  // namespace weft::memory_test
