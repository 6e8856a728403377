#include "mpi/calls/neighbours.hpp"

namespace weft::mpi {

namespace {

const Neighbourhood& known(const Attached& attached) {
  if (!attached.neighbourhood) attached.neighbourhood = neighbourhood_of(attached.comm);
  return *attached.neighbourhood;
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
  if (!around.exists || send_.is_in_place() || receive_.is_in_place() ||
      !send_.look_up(context.layouts(), around.destinations, attached.out) ||
      !receive_.look_up(context.layouts(), around.sources, attached.in)) {
    return Passed::arguments;
  }
  const Sums sent = add(attached.out, context.rank()), received = add(attached.in, context.rank());
  sent_bytes_ = sent.all;
  compare_sizes("MPI_Neighbor_alltoall", sent.own, received.own);
  return std::nullopt;
}

void Neighbours::run(const Context& context) {
  Attached& attached = context.attached;
  const std::byte* input = send_.input(context.layouts(), attached.packed_input);
  std::byte* output = receive_.output(attached.packed_output);
  context.weft().neighbours(input, attached.out, output, attached.in);
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
