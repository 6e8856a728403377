#include "tune/hosts/host_rules.hpp"

namespace weft::tune {

std::string_view mpi_name(plan::Collective collective) {
  switch (collective) {
    case plan::Collective::broadcast:
      return "bcast";
    case plan::Collective::reduce_scatter:
      return "reduce_scatter_block";
    default:
      return to_string(collective);
  }
}

}  // namespace weft::tune
