#include "plan/problem.hpp"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "base/error.hpp"

namespace weft::plan {

namespace {

struct Name {
  Collective collective;
  std::string_view text;
};

constexpr std::array kNames = {
    Name{Collective::alltoall, "alltoall"},
    Name{Collective::broadcast, "broadcast"},
    Name{Collective::scatter, "scatter"},
    Name{Collective::gather, "gather"},
    Name{Collective::allgather, "allgather"},
    Name{Collective::barrier, "barrier"},
    Name{Collective::reduce, "reduce"},
    Name{Collective::allreduce, "allreduce"},
    Name{Collective::reduce_scatter, "reduce_scatter"},
    Name{Collective::scan, "scan"},
    Name{Collective::exscan, "exscan"},
    Name{Collective::alltoallv, "alltoallv"},
};

}  // namespace

std::span<const Collective> all_collectives() {
  static constexpr auto kAll = [] {
    std::array<Collective, kNames.size()> all{};
    std::ranges::transform(kNames, all.begin(), &Name::collective);
    return all;
  }();
  return kAll;
}

std::string_view to_string(Collective collective) {
  const auto found = std::ranges::find(kNames, collective, &Name::collective);
  return found == kNames.end() ? "?" : found->text;
}

Collective parse_collective(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, &Name::text);
  if (found != kNames.end()) return found->collective;
  std::vector<std::string_view> names;
  for (const Name& name : kNames) names.push_back(name.text);
  throw_usage("collective '{}': there are {}", text, fmt::join(names, ", "));
}

bool is_reduction(Collective collective) {
  switch (collective) {
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan:
      return true;
    default:
      return false;
  }
}

bool is_rooted(Collective collective) {
  switch (collective) {
    case Collective::broadcast:
    case Collective::scatter:
    case Collective::gather:
    case Collective::reduce:
      return true;
    default:
      return false;
  }
}

bool may_be_left_early(Collective collective) {
  return is_rooted(collective) || collective == Collective::scan ||
         collective == Collective::exscan;
}

bool is_alltoall(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::alltoallv;
}

bool has_blocks_of_all(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::scatter:
    case Collective::gather:
    case Collective::allgather:
    case Collective::reduce_scatter:
      return true;
    default:
      return false;
  }
}

std::uint64_t Problem::blocks_end() const {
  if (layout.empty()) {
    return ranks == 0 || block_bytes == 0
               ? 0
               : static_cast<std::uint64_t>(ranks - 1) * stride + block_bytes;
  }
  return end_of(layout);
}

std::uint64_t end_of(std::span<const Block> blocks) {
  std::uint64_t end = 0;
  for (const Block& block : blocks) {
    if (block.bytes > 0) end = std::max(end, block.offset + block.bytes);
  }
  return end;
}

std::uint64_t Problem::input_bytes(int rank) const {
  if (in_place) return 0;
  switch (collective) {
    case Collective::alltoall:
    case Collective::reduce_scatter:
      return blocks_end();
    case Collective::broadcast:
      return rank == root ? block_bytes : 0;
    case Collective::scatter:
      return rank == root ? blocks_end() : 0;
    case Collective::gather:
    case Collective::allgather:
      return block(rank).bytes;
    case Collective::barrier:
      return 0;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan:
      return block_bytes;
    case Collective::alltoallv:
      return end_of(sends[static_cast<std::size_t>(rank)]);
  }
  return 0;
}

std::uint64_t Problem::output_bytes(int rank) const {
  switch (collective) {
    case Collective::alltoall:
    case Collective::allgather:
      return blocks_end();
    case Collective::broadcast:
      return rank == root ? 0 : block_bytes;
    case Collective::scatter:
    case Collective::reduce_scatter:
      return block(rank).bytes;
    case Collective::gather:
      return rank == root ? blocks_end() : 0;
    case Collective::barrier:
      return 0;
    case Collective::reduce:
      return rank == root ? block_bytes : 0;
    case Collective::allreduce:
    case Collective::scan:
      return block_bytes;
    case Collective::exscan:
      return rank == 0 ? 0 : block_bytes;
    case Collective::alltoallv:
      return end_of(receives[static_cast<std::size_t>(rank)]);
  }
  return 0;
}

}  // namespace weft::plan
