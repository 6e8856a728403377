#include "mpi/world/presence.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/env.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/host/host.hpp"
#include "mpi/report/job_report.hpp"
#include "mpi/world/key_values.hpp"

namespace weft::mpi {

namespace {

constexpr int kMostNamed = 1024;  // ranks that one rank asks about
// All messages arrive before MPI_Init returns to the program on their receiver, so none of the
// program's is taken for one of these, whatever its tag.
constexpr int kTag = 4711;

constexpr const char* kAdviceOnComponent =
    "weft install --openmpi on all hosts, and one setting of coll and of the component path for "
    "all ranks";

bool has_arrived(int from) {
  int arrived = 0;
  PMPI_Iprobe(from, kTag, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
  return arrived != 0;
}

/// Between two looks of a rank that waits. Ranks that wait in MPI_Recv and outnumber the cores keep
/// these from their launcher, which other ranks wait for: so they sleep.
void pause_after(int look) {
  constexpr auto kPause = std::chrono::microseconds(50);
  constexpr int kLooksBeforePause = 8;
  if (look > kLooksBeforePause) std::this_thread::sleep_for(kPause);
}

bool receive_verdict(int from) {
  for (int look = 1; kReceiveKeepsCore && !has_arrived(from); ++look) pause_after(look);
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

/// The parent or a child of this rank in the tree. Linked: it has the add-on, and takes part.
struct Neighbour {
  int rank = -1;
  AddOn addon = AddOn::missing;
  bool is_linked = false;

  explicit Neighbour(int other) : rank(other), addon(addon_of(other)) {}
  bool may_link() const {
    return !is_linked && (addon == AddOn::loaded || addon == AddOn::unknown);
  }
};

/// Greets those that have the add-on, and waits for their greetings. A rank of which the key-value
/// space fails to say whether it has the add-on is sent nothing, as its program could receive that;
/// if it has it, its greeting says so, or the key-value space does later.
///
/// Who does not come in time is cut off. One that has the add-on is told, as it may come yet: its
/// part of the tree ends alike.
void link(std::vector<Neighbour>& neighbours) {
  constexpr auto kPatienceWithUnknown = std::chrono::seconds(5);
  constexpr auto kPatience = std::chrono::seconds(60);
  for (const Neighbour& one : neighbours) {
    if (one.addon == AddOn::loaded) send_verdict(one.rank, true);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto advance = [&](Neighbour& one) {
    const bool has_greeted = has_arrived(one.rank);
    const bool was_unknown = one.addon == AddOn::unknown;
    if (has_greeted) {
      receive_verdict(one.rank);
      one.addon = AddOn::loaded;
      one.is_linked = true;
    } else if (was_unknown) {
      one.addon = addon_of(one.rank);
    }
    if (was_unknown && one.addon == AddOn::loaded) send_verdict(one.rank, true);
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (!one.may_link() || waited < (was_unknown ? kPatienceWithUnknown : kPatience)) return;
    if (one.addon == AddOn::loaded) send_verdict(one.rank, false);
    one.addon = AddOn::missing;
  };
  for (int look = 1; std::ranges::any_of(neighbours, &Neighbour::may_link); ++look) {
    for (Neighbour& one : neighbours) {
      if (one.may_link()) advance(one);
    }
    pause_after(look);
  }
}

/// Ranks without the add-on cut the tree into parts, each of which finds that it lost a child or a
/// parent. In each part the verdict goes up to its first rank and down again.
struct Verdict {
  bool all = true;
  bool first_of_part = true;

  Verdict(int rank, int size) {
    const Place place(rank, size);
    std::vector<Neighbour> neighbours(place.children.begin(), place.children.end());
    if (place.parent >= 0) neighbours.emplace_back(place.parent);
    link(neighbours);
    all = std::ranges::all_of(neighbours, &Neighbour::is_linked);
    std::erase_if(neighbours, [](const Neighbour& one) { return !one.is_linked; });
    const auto is_parent = [&](const Neighbour& one) { return one.rank == place.parent; };
    first_of_part = std::ranges::none_of(neighbours, is_parent);
    if (!first_of_part) neighbours.pop_back();
    for (const Neighbour& child : neighbours) all = receive_verdict(child.rank) && all;
    if (!first_of_part) {
      send_verdict(place.parent, all);
      all = receive_verdict(place.parent);
    }
    for (const Neighbour& child : neighbours) send_verdict(child.rank, all);
  }
};

/// The first of all parts prints the line. Each part's first rank asks about the ranks below it
/// until it finds one with the add-on.
void name_those_without(int rank, int size) {
  std::vector<int> without;
  bool is_wanted = false;  // some rank is without on purpose
  bool is_unclear = size <= kMostNamed;
  for (int other = 0; other < std::min(size, kMostNamed); ++other) {
    if (other == rank) continue;
    const AddOn addon = addon_of(other);
    const bool has_some = addon == AddOn::loaded || addon == AddOn::other_form;
    if ((has_some || addon == AddOn::unknown) && other < rank) return;
    if (addon == AddOn::missing || addon == AddOn::other_form) without.push_back(other);
    is_wanted = is_wanted || addon == AddOn::disabled;
    is_unclear = is_unclear || addon == AddOn::unknown;
  }
  if (without.empty() && !is_wanted && is_unclear) {
    print_line("the launcher failed to say which ranks have loaded the add-on: all run plain");
  }
  if (without.empty()) return;
  print_line(
      fmt::format("not loaded by {} {}{}: all run plain; {} (or WEFT_DISABLE=1 for plain MPI)",
                  without.size() == 1 ? "rank" : "ranks", list_of_ranks(without),
                  size > kMostNamed ? " and perhaps more" : "",
                  form == Form::component ? kAdviceOnComponent : kPassAddOn));
}

/// Where there is no key-value space ranks can only meet, in a collective of the host's, which
/// those without the add-on never call. What others of the host's they have begun cannot be told
/// from it, so who waits in vain cannot go on plain either: the job ends.
void meet_all() {
  constexpr std::int64_t kPatience = 60;
  const auto setting = env::integer("WEFT_CONNECT_TIMEOUT", 1, 86400);
  const std::chrono::seconds patience(setting.value_or(kPatience));
  const auto begin = std::chrono::steady_clock::now();
  MPI_Request met = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(MPI_COMM_WORLD, &met) != MPI_SUCCESS) return;
  int done = 0;
  for (int look = 1; PMPI_Test(&met, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;
       ++look) {
    if (std::chrono::steady_clock::now() - begin > patience) {
      end_job(fmt::format(
          "not all ranks have come within {} s (WEFT_CONNECT_TIMEOUT), and this launcher cannot "
          "say which have the add-on: {}, or WEFT_DISABLE=1 to all for plain MPI",
          patience.count(), form == Form::component ? kAdviceOnComponent : kPassAddOn));
    }
    pause_after(look);
  }
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
  if (size == 1) return true;
  if (values == KeyValues::none) {
    meet_all();
    return true;
  }
  // Not published, or not to be seen: the others take this rank for one without.
  if (values == KeyValues::not_for_this_rank) return false;
  const AddOn own = addon_of(rank);
  if (own != AddOn::loaded && own != AddOn::unknown) return false;
  const Verdict verdict(rank, size);
  if (!verdict.all && verdict.first_of_part) name_those_without(rank, size);
  return verdict.all;
}

}  // namespace weft::mpi
