#include "gather/schemes/steps.hpp"

#include "gather/flat/segment.hpp"

namespace weft::gather {

using plan::Collective;

Arrived move(plan::Builder& builder, const Team& team, const FlatAlgorithm& algorithm,
             const Parameters& parameters) {
  const std::uint64_t segment = algorithm.reads_segment ? parameters.segment : 0;
  return segmented(team, segment,
                   [&](const Team& part) { return algorithm.move(builder, part, parameters); });
}

const FlatAlgorithm& step_between(Collective collective, const Parameters& parameters) {
  return parameters.between == nullptr ? table_of(collective).flat.front() : *parameters.between;
}

const InsideAlgorithm& step_inside(Collective collective, const Parameters& parameters) {
  return parameters.inside == nullptr ? table_of(collective).inside.front() : *parameters.inside;
}

Arrived move_inside(plan::Builder& builder, const Team& team, Collective collective,
                    const InsideAlgorithm& inside) {
  if (inside.topology == nullptr) return inside_node(builder, team, inside.form);
  switch (collective) {
    case Collective::broadcast:
      return tree_broadcast(builder, team, inside.topology);
    case Collective::scatter:
      return tree_scatter(builder, team, inside.topology);
    case Collective::gather:
      return tree_gather(builder, team, inside.topology);
    default:
      return gather_broadcast(builder, team, inside.topology);
  }
}

}  // namespace weft::gather
