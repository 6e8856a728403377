#include "comm/calls/slices.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace weft::comm {

using plan::Collective;
using plan::Problem;

bool moves_nothing(const Task& task) {
  const Problem& problem = task.problem;
  if (problem.collective == Collective::barrier || task.irregular) return false;
  if (problem.collective == Collective::alltoallv) return false;
  const auto is_empty = [](const plan::Block& block) { return block.bytes == 0; };
  return problem.layout.empty() ? problem.block_bytes == 0
                                : std::ranges::all_of(problem.layout, is_empty);
}

Problem slice_of(const Problem& problem, std::uint64_t bytes) {
  Problem slice = problem;
  slice.block_bytes = bytes;
  return slice;
}

const std::byte* set_aside(const std::byte* input, std::uint64_t bytes,
                           std::vector<std::byte>& aside) {
  if (bytes == 0) return input;
  if (aside.size() < bytes) aside.resize(bytes);
  copy_bytes(aside.data(), input, bytes);
  return aside.data();
}

const Task& publish(Resources& resources, const Call& call, const Task& task, HeapCopies& copies) {
  if (!resources.sees_only_heaps() || !call.reads_peers) return task;
  const int rank = resources.rank();
  const std::uint64_t input_bytes = call.problem.input_bytes(rank);
  if (!copies.copy_in(task, input_bytes, call.problem.output_bytes(rank))) {
    resources.poison_all("the shared heap has no room for copies of its buffers");
  }
  return copies.task();
}

}  // namespace weft::comm
