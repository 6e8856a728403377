#include "mpi/replay/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace weft::mpi {

namespace {

using enum plan::Collective;

std::vector<int> in_a_row(int first, int stride, int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks[static_cast<std::size_t>(i)] = first + i * stride;
  return ranks;
}

/// `part` of `whole` here, of `there`: at least one, at most all.
int share(int part, int whole, int there) {
  const double exact = static_cast<double>(part) / whole * there;
  return std::clamp(static_cast<int>(std::lround(exact)), 1, there);
}

bool is_within_a_node(const RecordedCommunicator& communicator, const hierarchy::Machine& here) {
  return communicator.nodes == 1 && here.nodes() > 1;
}

/// Of the first two members.
int stride_of(const RecordedCommunicator& communicator) {
  if (communicator.members.empty()) return 1;
  const RankRun& run = communicator.members.front();
  return run.count > 1 ? static_cast<int>(run.stride) : 1;
}

double factor(plan::Collective collective, double here, double there, Scaling scaling) {
  if (scaling == Scaling::none) return 1;
  const double ratio = here / there;
  switch (collective) {
    case alltoall:
    case alltoallv:
      return scaling == Scaling::strong ? ratio * ratio : ratio;
    case allgather:
    case gather:
    case scatter:
      return scaling == Scaling::strong ? ratio : 1;
    case reduce_scatter:
      return ratio;
    default:
      return 1;
  }
}

}  // namespace

std::string_view to_string(Scaling scaling) {
  switch (scaling) {
    case Scaling::none:
      return "none";
    case Scaling::weak:
      return "weak";
    case Scaling::strong:
      return "strong";
  }
  return "";
}

std::vector<int> members_there(const RecordedCommunicator& communicator,
                               const hierarchy::Machine& here, const hierarchy::Machine& there) {
  const int ranks = static_cast<int>(communicator.ranks);
  if (ranks >= here.ranks()) return in_a_row(0, 1, there.ranks());
  if (is_within_a_node(communicator, here)) {
    const auto node = there.ranks_on(0);
    const int count = share(ranks, here.widest(), static_cast<int>(node.size()));
    return {node.begin(), node.begin() + count};
  }
  const int count = std::min(std::max(2, share(ranks, here.ranks(), there.ranks())), there.ranks());
  const int stride = stride_of(communicator);
  const bool fits = count > 1 && (there.ranks() - 1) / (count - 1) >= stride;
  return in_a_row(0, fits ? stride : 1, count);
}

std::uint64_t bytes_there(plan::Collective collective, std::uint64_t bytes,
                          std::uint64_t element_bytes, int here, int there, Scaling scaling) {
  if (bytes == 0) return 0;
  const double by = factor(collective, here, there, scaling);
  if (by == 1) return bytes;
  const double elements = static_cast<double>(bytes) * by / static_cast<double>(element_bytes);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(elements))) *
         element_bytes;
}

double work_there(int here, int there, Scaling scaling) {
  return scaling == Scaling::strong ? static_cast<double>(here) / there : 1;
}

}  // namespace weft::mpi
