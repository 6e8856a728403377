#include "mpi/calls/neighbours.hpp"

namespace weft::mpi {

namespace {

const Neighbourhood& known(const Attached& attached) {
  if (!attached.topology.neighbourhood) {
    attached.topology.neighbourhood = neighbourhood_of(attached.comm, attached.topology.is_of_all);
  }
  return *attached.topology.neighbourhood;
}

/// Whether some rank may leave out a call that others make. MPI does not allow it, but PETSc does
/// so on ranks without edges, whose calls do nothing. And Open MPI's own functions end calls of no
/// elements before a component sees them: on a grid all ranks have as many, on a graph of several
/// parts perhaps those of one.
bool may_lack_ranks(const Neighbourhood& around, const World& world) {
  return world.host_facts() == nullptr ? !around.is_of_all : !around.is_grid;
}

/// Of all edges, and of those to or from `rank`.
struct Sums {
  std::size_t all = 0;
  std::size_t own = 0;
};

Sums add(const std::vector<Edge>& edges, int rank) {
  Sums sums;
  for (const Edge& edge : edges) {
    sums.all += edge.bytes;
    if (edge.rank == rank) sums.own += edge.bytes;
  }
  return sums;
}

}  // namespace

std::optional<Passed> Neighbours::judge(const Context& context) {
  Attached& attached = context.attached;
  const Neighbourhood& around = known(attached);
  if (around.exists && may_lack_ranks(around, context.world)) return Passed::lonely_rank;
  if (!around.exists || send_.is_in_place() || receive_.is_in_place() ||
      !send_.look_up(context.layouts(), around.destinations, attached.lists.out) ||
      !receive_.look_up(context.layouts(), around.sources, attached.lists.in)) {
    return Passed::arguments;
  }
  const Sums sent = add(attached.lists.out, context.rank()),
             received = add(attached.lists.in, context.rank());
  sent_bytes_ = sent.all;
  compare_sizes(name_of_function(), sent.own, received.own);
  return std::nullopt;
}

/// By what is sent and received: one block, a row, blocks anywhere, blocks of types of their own.
const char* Neighbours::name_of_function() const {
  constexpr int kRow = 1, kIrregular = 2, kTyped = 3;
  switch (function()) {
    case kRow:
      return "MPI_Neighbor_allgather";
    case kIrregular:
      return "MPI_Neighbor_allgatherv";
    case kRow* EdgeBlocks::kForms + kRow:
      return "MPI_Neighbor_alltoall";
    case kTyped* EdgeBlocks::kForms + kTyped:
      return "MPI_Neighbor_alltoallw";
    default:
      return "MPI_Neighbor_alltoallv";
  }
}

/// Ranks know the sizes of their own edges only, so all sizes are in one race.
std::optional<std::size_t> Neighbours::raced_function(const Context& context) const {
  return known(context.attached).is_matched_by_host ? std::optional(function()) : std::nullopt;
}

void Neighbours::run(const Context& context) {
  Attached& attached = context.attached;
  const std::byte* input = send_.input(context.layouts(), attached.packed_input);
  std::byte* output = receive_.output(attached.packed_output);
  context.weft().neighbours(input, attached.lists.out, output, attached.lists.in);
  receive_.deliver(context.layouts(), output);
}

void Neighbours::keep(Arrays& arrays, const Attached& attached) {
  const Neighbourhood& around = known(attached);
  send_.keep(arrays, around.sends);
  receive_.keep(arrays, around.receives);
}

void Neighbours::add_handles(Handles& handles, const Attached& attached) const {
  const Neighbourhood& around = known(attached);
  send_.add_types(handles, around.sends);
  receive_.add_types(handles, around.receives);
}

}  // namespace weft::mpi
