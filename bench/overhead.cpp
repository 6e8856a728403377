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

}  // namespace

BENCHMARK_MAIN();
