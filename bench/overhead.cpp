// What a cached call costs beside the work itself.
#include <benchmark/benchmark.h>

#include <vector>

#include "engine/board/board.hpp"
#include "engine/program/program.hpp"
#include "nic_profiles/profile.hpp"
#include "registry/algorithm.hpp"
#include "tune/choice_cache.hpp"
#include "tune/decision_table.hpp"
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
  const auto chosen = weft::registry::Algorithm::parse(weft::plan::Collective::alltoall, algorithm);
  const auto machine = weft::hierarchy::Machine::parse(machine_text);
  const auto problem = weft::plan::Problem::alltoall(machine.ranks(), 512);
  for (auto _ : state) benchmark::DoNotOptimize(chosen.plan(problem, machine, 7));
}
BENCHMARK_CAPTURE(emit, isend_512, "isend", "64x8");
BENCHMARK_CAPTURE(emit, bruck_512, "bruck", "64x8");
BENCHMARK_CAPTURE(emit, sa_64x8, "sa", "64x8");
BENCHMARK_CAPTURE(emit, rd_64x8, "rd", "64x8");
BENCHMARK_CAPTURE(emit, leader_64x8, "leader", "64x8");

/// An alltoallv on 64 nodes of 8 whose counts all differ, as the first of them knows it.
struct VectorCall {
  using Rows = std::vector<std::vector<weft::plan::Block>>;

  VectorCall() : sends(rows(true)), receives(rows(false)) {}

  Rows rows(bool out) const {
    Rows result;
    for (const int rank : machine.ranks_on(0)) {
      auto& row = result.emplace_back();
      std::uint64_t offset = 0;
      for (int peer = 0; peer < machine.ranks(); ++peer) {
        const auto pair = static_cast<std::uint64_t>(out ? rank * 512 + peer : peer * 512 + rank);
        row.push_back({offset, pair * 2654435761u % 997 + 1});
        offset += row.back().bytes;
      }
    }
    return result;
  }

  weft::plan::Plan plan(const weft::registry::Algorithm& algorithm, int rank) const {
    const weft::hierarchy::LocalBlocks blocks(machine, 0, {sends.begin(), sends.end()},
                                              {receives.begin(), receives.end()}, false);
    return algorithm.plan(blocks, machine, rank);
  }

  weft::hierarchy::Machine machine = weft::hierarchy::Machine::parse("64x8");
  Rows sends;
  Rows receives;
};

// The plan of an alltoallv, which a call may bring anew each time: from what the node knows.
void emit_vector(benchmark::State& state, const char* algorithm, int rank) {
  const auto chosen = weft::registry::Algorithm::parse(weft::plan::Collective::alltoall, algorithm);
  const VectorCall call;
  for (auto _ : state) benchmark::DoNotOptimize(call.plan(chosen, rank));
}

// And from there to what the executor runs.
void ready_vector(benchmark::State& state, const char* algorithm, int rank) {
  const auto chosen = weft::registry::Algorithm::parse(weft::plan::Collective::alltoall, algorithm);
  const VectorCall call;
  std::vector<int> place_of_rank(static_cast<std::size_t>(call.machine.ranks()), -1);
  for (const int local : call.machine.ranks_on(0)) {
    place_of_rank[local] = call.machine.place_of(local);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(weft::engine::Program(call.plan(chosen, rank), place_of_rank, 8));
  }
}

#define WEFT_VECTOR_BENCHMARKS(name, ...)            \
  BENCHMARK_CAPTURE(emit_vector, name, __VA_ARGS__); \
  BENCHMARK_CAPTURE(ready_vector, name, __VA_ARGS__)
WEFT_VECTOR_BENCHMARKS(isend_512, "isend", 3);
WEFT_VECTOR_BENCHMARKS(fat_tree_512, "fat-tree", 3);
WEFT_VECTOR_BENCHMARKS(sa_64x8, "sa", 3);
WEFT_VECTOR_BENCHMARKS(sa_direct_64x8, "sa:direct=1", 3);
WEFT_VECTOR_BENCHMARKS(sa_2_cores_64x8, "sa:cores=2", 3);
WEFT_VECTOR_BENCHMARKS(sa_aggregate_64x8, "sa:aggregate=512", 3);
WEFT_VECTOR_BENCHMARKS(rd_64x8, "rd", 3);
WEFT_VECTOR_BENCHMARKS(leader_64x8, "leader", 3);
WEFT_VECTOR_BENCHMARKS(leader_64x8_the_leader, "leader", 0);

// What a call pays for being visible when it stands still: where its rank is, on the board.
void post_call(benchmark::State& state) {
  weft::engine::board::Poster poster;
  std::uint64_t number = 0;
  for (auto _ : state) {
    const std::uint64_t tag = ++number << 32 | 7;
    poster.begin_call(tag, number, 12, 4096);
    poster.end_call(tag, number);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(post_call);

// Choosing an algorithm: what a new size costs rank 0, once for each power of two.
void choose(benchmark::State& state, const char* collective, const char* machine_text) {
  const auto machine = weft::hierarchy::Machine::parse(machine_text);
  auto problem = weft::plan::Problem::alltoall(machine.ranks(), 512);
  problem.collective = weft::plan::parse_collective(collective);
  const weft::tune::Basis basis{machine, weft::nic_profiles::load("qle7140").hardware,
                                weft::tune::Direct::calls};
  for (auto _ : state) {
    weft::tune::ChoiceCache choices(basis);
    benchmark::DoNotOptimize(choices.choose(problem));
  }
}
BENCHMARK_CAPTURE(choose, alltoall_2x4, "alltoall", "2x4");
BENCHMARK_CAPTURE(choose, alltoall_8x8, "alltoall", "8x8");
BENCHMARK_CAPTURE(choose, alltoall_64x8, "alltoall", "64x8");
BENCHMARK_CAPTURE(choose, alltoall_128x18, "alltoall", "128x18");
BENCHMARK_CAPTURE(choose, allgather_64x8, "allgather", "64x8");
BENCHMARK_CAPTURE(choose, allreduce_64x8, "allreduce", "64x8");
BENCHMARK_CAPTURE(choose, allreduce_128x18, "allreduce", "128x18");

// The same out of a table that was made in advance.
void look_up(benchmark::State& state) {
  weft::tune::DecisionTable table;
  std::vector<weft::tune::Rule> rules;
  for (std::uint64_t bytes = 1; bytes < 1 << 22; bytes *= 2) rules.push_back({bytes, "sa"});
  rules.push_back({weft::tune::Rule::kAnyBytes, "isend"});
  table.set(weft::plan::Collective::alltoall, rules);
  std::uint64_t bytes = 1;
  for (auto _ : state) {
    bytes = bytes * 5 % (1 << 23) + 1;
    benchmark::DoNotOptimize(table.find(weft::plan::Collective::alltoall, bytes));
  }
}
BENCHMARK(look_up);

}  // namespace

BENCHMARK_MAIN();
