// What a cached call costs beside the work itself.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "alltoall/registry.hpp"
#include "weft/weft.hpp"

namespace {

// One rank: looking the plan up, running its only op (a copy of 8 bytes) and counting the call.
// An upper bound on the time from a call to its first op.
void cached_call(benchmark::State& state) {
  auto bootstraps = weft::thread_bootstraps(1);
  weft::Communicator comm(std::move(bootstraps[0]));
  std::vector<std::byte> input(8);
  std::vector<std::byte> output(8);
  comm.alltoall(input.data(), output.data(), 8);
  for (auto _ : state) {
    comm.alltoall(input.data(), output.data(), 8);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(cached_call);

// The same where the signature alternates, so that the cache is searched.
void cached_call_of_two_sizes(benchmark::State& state) {
  auto bootstraps = weft::thread_bootstraps(1);
  weft::Communicator comm(std::move(bootstraps[0]));
  std::vector<std::byte> input(16);
  std::vector<std::byte> output(16);
  comm.alltoall(input.data(), output.data(), 8);
  comm.alltoall(input.data(), output.data(), 16);
  std::size_t block = 8;
  for (auto _ : state) {
    block ^= 24;
    comm.alltoall(input.data(), output.data(), block);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(cached_call_of_two_sizes);

// Making a plan: what a call costs the first time, and never again.
void emit(benchmark::State& state, const char* algorithm, const char* machine_text) {
  const auto chosen = weft::alltoall::Algorithm::parse(algorithm);
  const auto machine = weft::hierarchy::Machine::parse(machine_text);
  const auto problem = weft::plan::Problem::alltoall(machine.ranks(), 512);
  for (auto _ : state) benchmark::DoNotOptimize(chosen.plan(problem, machine, 7));
}
BENCHMARK_CAPTURE(emit, isend_512, "isend", "64x8");
BENCHMARK_CAPTURE(emit, bruck_512, "bruck", "64x8");
BENCHMARK_CAPTURE(emit, sa_64x8, "sa", "64x8");
BENCHMARK_CAPTURE(emit, rd_64x8, "rd", "64x8");
BENCHMARK_CAPTURE(emit, leader_64x8, "leader", "64x8");

// The same for an alltoallv whose counts all differ, and which a call may bring anew each time:
// from what the node knows to the plan.
void emit_vector(benchmark::State& state, const char* algorithm, const char* machine_text) {
  const auto chosen = weft::alltoall::Algorithm::parse(algorithm);
  const auto machine = weft::hierarchy::Machine::parse(machine_text);
  std::vector<std::vector<weft::plan::Block>> sends;
  std::vector<std::vector<weft::plan::Block>> receives;
  for (const bool out : {true, false}) {
    for (const int rank : machine.ranks_on(0)) {
      auto& row = (out ? sends : receives).emplace_back();
      std::uint64_t offset = 0;
      for (int peer = 0; peer < machine.ranks(); ++peer) {
        const auto pair = static_cast<std::uint64_t>(out ? rank * 512 + peer : peer * 512 + rank);
        row.push_back({offset, pair * 2654435761u % 997 + 1});
        offset += row.back().bytes;
      }
    }
  }
  const weft::hierarchy::LocalBlocks blocks(machine, 0, {sends.begin(), sends.end()},
                                            {receives.begin(), receives.end()}, false);
  for (auto _ : state) benchmark::DoNotOptimize(chosen.plan(blocks, machine, 3));
}
BENCHMARK_CAPTURE(emit_vector, isend_512, "isend", "64x8");
BENCHMARK_CAPTURE(emit_vector, fat_tree_512, "fat-tree", "64x8");
BENCHMARK_CAPTURE(emit_vector, sa_64x8, "sa", "64x8");
BENCHMARK_CAPTURE(emit_vector, sa_direct_64x8, "sa:direct=1", "64x8");
BENCHMARK_CAPTURE(emit_vector, sa_2_cores_64x8, "sa:cores=2", "64x8");
BENCHMARK_CAPTURE(emit_vector, rd_64x8, "rd", "64x8");
BENCHMARK_CAPTURE(emit_vector, leader_64x8, "leader", "64x8");
BENCHMARK_CAPTURE(emit_vector, sa_aggregate_64x8, "sa:aggregate=512", "64x8");

}  // namespace

BENCHMARK_MAIN();
