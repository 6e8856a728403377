#include "comm/selection.hpp"

namespace weft::comm {

namespace {
constexpr std::uint64_t kDirectBytes = 16 << 10;
constexpr std::uint64_t kBruckBytes = 512;
constexpr std::uint64_t kFlatBytes = 64 << 10;
}  // namespace

alltoall::Algorithm choose_alltoall(const Facts& facts, std::uint64_t block_bytes) {
  using alltoall::Algorithm;
  const hierarchy::Machine& machine = facts.machine;
  const bool direct = facts.direct_views && block_bytes >= kDirectBytes;
  if (machine.nodes() == 1) return Algorithm::parse(direct ? "sa:direct=1" : "sa");
  if (machine.widest() == 1) {
    if (block_bytes <= kBruckBytes && machine.ranks() > 4) return Algorithm::parse("bruck");
    return Algorithm::parse("isend");
  }
  if (block_bytes >= kFlatBytes) return Algorithm::parse("isend");
  const std::uint64_t aggregate = block_bytes * static_cast<std::uint64_t>(machine.widest());
  if (aggregate <= kBruckBytes && machine.nodes() > 4) {
    return Algorithm::parse("sa:between=bruck");
  }
  return Algorithm::parse(direct ? "sa:direct=1" : "sa");
}

}  // namespace weft::comm
