// How fast the simulator is: the three cases that it has to be fast at, with the most memory that
// the process has had by then. Without arguments all of them, else those whose names are given.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "nic_profiles/profile.hpp"
#include "registry/algorithm.hpp"
#include "sim/simulator.hpp"

namespace {

using weft::hierarchy::Machine;
using weft::plan::Collective;
using weft::plan::Problem;
using weft::registry::Algorithm;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

void measure(const char* name, const Algorithm& algorithm, const Problem& problem,
             const Machine& machine) {
  const auto profile = weft::nic_profiles::load("omni-path-100");
  double planning = 0;
  const double begin = seconds();
  const double cpu_begin = cpu_seconds();
  const auto result = weft::sim::simulate(
      [&](int rank) {
        const double before = seconds();
        auto plan = algorithm.plan(problem, machine, rank);
        planning += seconds() - before;
        return plan;
      },
      machine, profile.hardware);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%-28s %8.2f s (CPU %6.2f s, planning %6.2f s), %10llu messages between nodes, %10llu "
      "events, "
      "%5ld MiB, virtual %.1f us\n",
      name, seconds() - begin, cpu_seconds() - cpu_begin, planning,
      static_cast<unsigned long long>(result.messages),
      static_cast<unsigned long long>(result.events), usage.ru_maxrss / 1024, result.time_ns / 1e3);
  std::fflush(stdout);
}

bool is_asked(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return true;
  }
  return argc == 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (is_asked(argc, argv, "storm")) {
    measure("isend alltoall, 64x8", Algorithm::parse(Collective::alltoall, "isend"),
            Problem::alltoall(512, 512), Machine::uniform(64, 8));
  }
  if (is_asked(argc, argv, "ring")) {
    measure("ring allgather, 128x18", Algorithm::parse(Collective::allgather, "ring"),
            {Collective::allgather, 2304, 64, 64}, Machine::uniform(128, 18));
  }
  constexpr int kNodes = 6250;
  const Machine large = Machine::uniform(kNodes, 16);
  const int ranks = large.ranks();
  if (is_asked(argc, argv, "barrier")) {
    measure("dissemination barrier, 100k", Algorithm::parse(Collective::barrier, "dissemination"),
            {Collective::barrier, ranks}, large);
  }
  if (is_asked(argc, argv, "allreduce")) {
    measure("recursive doubling, 100k",
            Algorithm::parse(Collective::allreduce, "recursive-doubling"),
            {Collective::allreduce, ranks, 64, 64}, large);
  }
  if (is_asked(argc, argv, "broadcast")) {
    measure("binomial broadcast, 100k", Algorithm::parse(Collective::broadcast, "binomial"),
            {Collective::broadcast, ranks, 64, 64}, large);
  }
}
