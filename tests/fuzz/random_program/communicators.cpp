#include "communicators.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace weft::test {

namespace {

enum Way {
  kDup,
  kDupInBackground,
  kSplit,
  kSplitOfSome,
  kSplitType,
  kCreate,
  kCreateGroup,
  kCartesian,
  kCartesianPart,
  kDistributedGraph,
  kInter,
  kMerged,
  kWays
};

Way way(Random& random) {
  return static_cast<Way>(random.below(kWays));
}

std::vector<int> in_world(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  int size = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> found(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group_translate_ranks(group, size, own.data(), world, found.data());
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  return found;
}

/// Those of `random`, in any order; one at least.
MPI_Group some_of(const Communicator& parent, Random& random) {
  std::vector<int> order(static_cast<std::size_t>(parent.size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  const int many = 1 + random.below(parent.size);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(parent.handle, &all);
  MPI_Group_incl(all, many, order.data(), &some);
  MPI_Group_free(&all);
  return some;
}

MPI_Comm of_group(const Communicator& parent, Random& random, bool by_its_ranks) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group some = some_of(parent, random);
  int place = MPI_UNDEFINED;
  MPI_Group_rank(some, &place);
  if (!by_its_ranks) {
    MPI_Comm_create(parent.handle, some, &made);
  } else if (place != MPI_UNDEFINED) {
    MPI_Comm_create_group(parent.handle, some, 17, &made);
  }
  MPI_Group_free(&some);
  return made;
}

MPI_Comm cartesian(const Communicator& parent, Random& random, bool part) {
  MPI_Comm grid = MPI_COMM_NULL;
  std::array<int, 2> sides = {0, 0};
  MPI_Dims_create(parent.size, 2, sides.data());
  if (random.one_in(2)) std::swap(sides[0], sides[1]);
  const std::array periodic = {random.below(2), random.below(2)};
  MPI_Cart_create(parent.handle, 2, sides.data(), periodic.data(), random.below(2), &grid);
  if (!part) return grid;
  MPI_Comm made = MPI_COMM_NULL;
  const int first = random.below(2);
  const std::array kept = {first, 1 - first};
  MPI_Cart_sub(grid, kept.data(), &made);
  MPI_Comm_free(&grid);
  return made;
}

/// Each rank receives from the next ones, as many as its parent's draw says.
MPI_Comm graph(const Communicator& parent, Random& random) {
  MPI_Comm made = MPI_COMM_NULL;
  const int degree = random.below(std::min(parent.size, 3));
  std::vector<int> sources;
  std::vector<int> destinations;
  for (int i = 1; i <= degree; ++i) {
    sources.push_back((parent.rank + i) % parent.size);
    destinations.push_back((parent.rank + parent.size - i) % parent.size);
  }
  const std::vector<int> weights(sources.size() + 1, 1);
  MPI_Dist_graph_create_adjacent(parent.handle, degree, sources.data(), weights.data(), degree,
                                 destinations.data(), weights.data(), MPI_INFO_NULL, 0, &made);
  return made;
}

/// Of the first ranks and the others.
MPI_Comm inter(const Communicator& parent, Random& random, bool merged) {
  if (parent.size < 2) return MPI_COMM_NULL;
  const int cut = 1 + random.below(parent.size - 1);
  const int side = parent.rank < cut ? 0 : 1;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(parent.handle, side, parent.rank, &half);
  MPI_Intercomm_create(half, 0, parent.handle, side == 0 ? cut : 0, 18, &both);
  MPI_Comm_free(&half);
  if (!merged) return both;
  MPI_Comm made = MPI_COMM_NULL;
  const int high = random.below(2);
  MPI_Intercomm_merge(both, side == 0 ? high : 1 - high, &made);
  MPI_Comm_free(&both);
  return made;
}

MPI_Comm split(const Communicator& parent, std::uint64_t seed, Random& random, bool some) {
  MPI_Comm made = MPI_COMM_NULL;
  Random own({seed, static_cast<std::uint64_t>(parent.rank)});
  const int colors = 1 + random.below(3);
  const int color = some && own.one_in(4) ? MPI_UNDEFINED : own.below(colors);
  MPI_Comm_split(parent.handle, color, own.below(2 * parent.size), &made);
  return made;
}

}  // namespace

void find_neighbours(Communicator& communicator) {
  int topology = MPI_UNDEFINED;
  MPI_Topo_test(communicator.handle, &topology);
  if (topology == MPI_CART) {
    int sides = 0;
    MPI_Cartdim_get(communicator.handle, &sides);
    for (int side = 0; side < sides; ++side) {
      int before = 0;
      int after = 0;
      MPI_Cart_shift(communicator.handle, side, 1, &before, &after);
      communicator.neighbours.insert(communicator.neighbours.end(), {before, after});
    }
    communicator.has_neighbours = sides > 0;
  } else if (topology == MPI_DIST_GRAPH) {
    int in = 0;
    int out = 0;
    int weighted = 0;
    MPI_Dist_graph_neighbors_count(communicator.handle, &in, &out, &weighted);
    communicator.neighbours.resize(static_cast<std::size_t>(in));
    std::vector<int> weights(static_cast<std::size_t>(std::max(in, out)) + 1);
    std::vector<int> other(static_cast<std::size_t>(out) + 1);
    MPI_Dist_graph_neighbors(communicator.handle, in, communicator.neighbours.data(),
                             weights.data(), out, other.data(), weights.data());
    communicator.has_neighbours = true;
  }
}

Communicator described(MPI_Comm handle) {
  Communicator result;
  result.handle = handle;
  if (handle == MPI_COMM_NULL) return result;
  int is_inter = 0;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_test_inter(handle, &is_inter);
  MPI_Comm_rank(handle, &result.rank);
  MPI_Comm_size(handle, &result.size);
  MPI_Comm_group(handle, &group);
  result.is_inter = is_inter != 0;
  result.is_hosts = result.is_inter || result.size == 1;
  result.peers = result.size;
  result.ranks = in_world(group);
  int first = *std::min_element(result.ranks.begin(), result.ranks.end());
  if (result.is_inter) {
    MPI_Comm_remote_size(handle, &result.peers);
    MPI_Comm_remote_group(handle, &group);
    const std::vector<int> others = in_world(group);
    const int first_of_others = *std::min_element(others.begin(), others.end());
    result.side = first < first_of_others ? 0 : 1;
    first = std::min(first, first_of_others);
  }
  result.instance = static_cast<std::uint64_t>(first);
  return result;
}

MPI_Comm make_communicator(const Communicator& parent, std::uint64_t seed) {
  Random random({seed});
  MPI_Comm made = MPI_COMM_NULL;
  switch (way(random)) {
    case kDup:
      MPI_Comm_dup(parent.handle, &made);
      return made;
    case kDupInBackground: {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Comm_idup(parent.handle, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return made;
    }
    case kSplit:
      return split(parent, seed, random, false);
    case kSplitOfSome:
      return split(parent, seed, random, true);
    case kSplitType:
      MPI_Comm_split_type(parent.handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
      return made;
    case kCreate:
      return of_group(parent, random, false);
    case kCreateGroup:
      return of_group(parent, random, true);
    case kCartesian:
      return cartesian(parent, random, false);
    case kCartesianPart:
      return cartesian(parent, random, true);
    case kDistributedGraph:
      return graph(parent, random);
    case kInter:
      return inter(parent, random, false);
    default:
      return inter(parent, random, true);
  }
}

const char* way_of_making(std::uint64_t seed) {
  constexpr std::array<const char*, kWays> kNames = {
      "dup",          "idup",        "split",    "split of some", "split_type", "create",
      "create_group", "cart_create", "cart_sub", "dist_graph",    "intercomm",  "merge"};
  Random random({seed});
  return kNames[static_cast<std::size_t>(way(random))];
}

bool makes_neighbours(std::uint64_t seed) {
  Random random({seed});
  const Way found = way(random);
  return found == kCartesian || found == kCartesianPart || found == kDistributedGraph;
}

bool is_hosts_way(std::uint64_t seed) {
  Random random({seed});
  return way(random) == kDupInBackground;
}

}  // namespace weft::test
