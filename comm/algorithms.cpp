#include "comm/algorithms.hpp"

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "reduce/registry.hpp"

namespace weft::comm {

Algorithm parse_algorithm(plan::Collective collective, std::string_view text) {
  if (is_alltoall(collective)) {
    return as_algorithm(alltoall::Algorithm::parse(text));
  }
  if (is_reduction(collective)) return as_algorithm(reduce::Algorithm::parse(collective, text));
  return as_algorithm(gather::Algorithm::parse(collective, text));
}

}  // namespace weft::comm
