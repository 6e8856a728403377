#include "gather/schemes/inside_steps.hpp"

#include "gather/flat/algorithms.hpp"

namespace weft::gather {

using plan::Collective;

Arrived move_inside(plan::Builder& builder, const Team& team, Collective collective,
                    const InsideStep& inside) {
  if (inside.topology == nullptr) return copy_inside_node(builder, team, inside.form);
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
