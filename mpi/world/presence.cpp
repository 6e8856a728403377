#include "mpi/world/presence.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "mpi/report/job_report.hpp"
#include "mpi/world/key_values.hpp"

namespace weft::mpi {

namespace {

constexpr int kMostNamed = 1024;  // ranks that one rank asks about
// All messages arrive before MPI_Init returns to the program on their receiver, so none of the
// program's is taken for one of these, whatever its tag.
constexpr int kTag = 4711;

#ifdef OPEN_MPI
constexpr const char* kAdvice = "mpirun -x LD_PRELOAD=$(weft preload)";
#else
constexpr const char* kAdvice = "mpirun -env LD_PRELOAD $(weft preload --mpi mpich)";
#endif

/// Ranks of MPICH spin in MPI_Recv, and where they outnumber the cores, they keep these from their
/// launcher, which other ranks wait for: so they look now and then, and sleep between.
void wait_for_verdict([[maybe_unused]] int from) {
#ifndef OPEN_MPI
  constexpr auto kPause = std::chrono::microseconds(50);
  constexpr int kLooksBeforePause = 8;
  int arrived = 0;
  for (int look = 1; arrived == 0; ++look) {
    PMPI_Iprobe(from, kTag, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0 && look > kLooksBeforePause) std::this_thread::sleep_for(kPause);
  }
#endif
}

bool receive_verdict(int from) {
  wait_for_verdict(from);
  char verdict = 0;
  PMPI_Recv(&verdict, 1, MPI_CHAR, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return verdict != 0;
}

void send_verdict(int to, bool verdict) {
  const char text = verdict ? 1 : 0;
  PMPI_Send(&text, 1, MPI_CHAR, to, kTag, MPI_COMM_WORLD);
}

/// This rank in the binomial tree over all ranks: the parent clears the lowest set bit.
struct Place {
  int parent = -1;
  std::vector<int> children;

  Place(int rank, int size) {
    if (rank != 0) parent = rank & (rank - 1);
    const int below = rank != 0 ? rank & -rank : size;
    for (int bit = 1; bit < below && bit < size - rank; bit *= 2) children.push_back(rank + bit);
  }
};

/// Ranks without the add-on cut the tree into parts, each of which finds that it lost a child or a
/// parent. In each part the verdict goes up to its first rank and down again.
struct Verdict {
  bool all = true;
  bool first_of_part = true;

  Verdict(int rank, int size) {
    const Place place(rank, size);
    std::vector<int> children;
    for (const int child : place.children) {
      if (addon_of(child) == AddOn::loaded) children.push_back(child);
    }
    all = children.size() == place.children.size();
    for (const int child : children) all = receive_verdict(child) && all;
    first_of_part = place.parent < 0 || addon_of(place.parent) != AddOn::loaded;
    if (!first_of_part) {
      send_verdict(place.parent, all);
      all = receive_verdict(place.parent);
    } else if (place.parent >= 0) {
      all = false;
    }
    for (const int child : children) send_verdict(child, all);
  }
};

/// The first of all parts prints the line. Each part's first rank asks about the ranks below it
/// until it finds one with the add-on.
void name_those_without(int rank, int size) {
  std::vector<int> without;
  for (int other = 0; other < std::min(size, kMostNamed); ++other) {
    if (other == rank) continue;
    const AddOn addon = addon_of(other);
    if (addon == AddOn::loaded && other < rank) return;
    if (addon == AddOn::missing) without.push_back(other);
  }
  if (without.empty()) return;
  print_line(
      fmt::format("not loaded by {} {}{}: all run plain; {} passes it on (or WEFT_DISABLE=1 "
                  "for plain MPI)",
                  without.size() == 1 ? "rank" : "ranks", list_of_ranks(without),
                  size > kMostNamed ? " and perhaps more" : "", kAdvice));
}

}  // namespace

std::string list_of_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

bool all_ranks_have_addon() {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const KeyValues values = key_values();
  if (size == 1 || values == KeyValues::none) return true;
  // Not published, or not to be seen: the others take this rank for one without.
  if (values == KeyValues::not_for_this_rank || addon_of(rank) != AddOn::loaded) return false;
  const Verdict verdict(rank, size);
  if (!verdict.all && verdict.first_of_part) name_those_without(rank, size);
  return verdict.all;
}

}  // namespace weft::mpi
