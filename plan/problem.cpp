#include "plan/problem.hpp"

#include "base/error.hpp"

namespace weft::plan {

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
      return "alltoall";
  }
  return "?";
}

Collective parse_collective(std::string_view text) {
  if (text == "alltoall") return Collective::alltoall;
  throw_usage("collective '{}': there is only alltoall", text);
}

}  // namespace weft::plan
