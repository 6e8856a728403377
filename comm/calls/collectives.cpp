// The collectives of a communicator: each says which task it is, and either runs it or keeps it.
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "weft/weft.hpp"

namespace weft {

using comm::Task;
using plan::Collective;
using plan::Problem;

namespace {

const std::byte* bytes_of(const void* buffer) {
  return static_cast<const std::byte*>(buffer);
}
std::byte* bytes_of(void* buffer) {
  return static_cast<std::byte*>(buffer);
}

// Tasks are filled where they are: to move one costs what a small collective does.
void describe(Problem& problem, Collective collective, int ranks, std::size_t bytes, int root = 0) {
  if (root < 0 || root >= ranks) {
    throw_usage("{} with root {}: a rank from 0 to {} is allowed", to_string(collective), root,
                ranks - 1);
  }
  std::ptrdiff_t all = 0;
  if (__builtin_mul_overflow(bytes, ranks, &all)) {
    throw_usage("{} of {} bytes for each of {} ranks: at most {} bytes in all are allowed",
                to_string(collective), bytes, ranks, PTRDIFF_MAX);
  }
  problem.collective = collective;
  problem.ranks = ranks;
  problem.block_bytes = bytes;
  problem.stride = bytes;
  problem.root = root;
}

/// UsageError where they are more than there are addresses.
std::size_t bytes_of(Collective collective, std::size_t elements, const Operation& operation) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(elements, operation.element_bytes, &bytes)) {
    throw_usage("{} of {} elements of {} bytes: at most {} bytes are allowed",
                to_string(collective), elements, operation.element_bytes, PTRDIFF_MAX);
  }
  return static_cast<std::size_t>(bytes);
}

void describe(Problem& problem, Collective collective, int ranks, std::size_t elements,
              const Operation& operation, int root = 0) {
  if (operation.element_bytes == 0 || operation.combine == nullptr) {
    throw_usage("{} with an operation on elements of {} bytes{}", to_string(collective),
                operation.element_bytes,
                operation.combine == nullptr ? " that combines nothing" : "");
  }
  describe(problem, collective, ranks, bytes_of(collective, elements, operation), root);
  problem.element_bytes = operation.element_bytes;
  problem.commutative = operation.commutative;
  problem.associative = operation.associative;
}

void set_layout(Problem& problem, std::span<const Part> parts) {
  if (parts.size() != static_cast<std::size_t>(problem.ranks)) {
    throw_usage("{} of {} ranks with {} parts: they must be equal", to_string(problem.collective),
                problem.ranks, parts.size());
  }
  problem.layout.reserve(parts.size());
  for (const Part& part : parts) problem.layout.push_back({part.offset, part.bytes});
}

/// In place, what is small is copied aside, which is faster; of what is large no rank needs a copy,
/// as all do it in place.
Task alltoall_task(const Communicator& comm, const void* input, void* output, std::size_t bytes,
                   std::uint64_t most_aside) {
  const std::byte* in = bytes_of(input);
  const std::byte* out = bytes_of(output);
  Task task{.input = in, .output = bytes_of(output)};
  describe(task.problem, Collective::alltoall, comm.size(), bytes);
  const std::size_t all = bytes * static_cast<std::size_t>(comm.size());
  if (all != 0 && in != out && in < out + all && out < in + all) {
    throw_usage("alltoall of {} blocks of {} bytes: input and output overlap and are not the same",
                comm.size(), bytes);
  }
  task.in_place = in == out && all <= most_aside;
  task.problem.in_place = in == out && all > most_aside;
  return task;
}

/// One after another: of each block piece_bytes, the last time what is left.
std::vector<Task> alltoall_piece_tasks(const Communicator& comm, const void* input, void* output,
                                       std::size_t block_bytes, std::size_t piece_bytes) {
  if (piece_bytes == 0 || (input == output && block_bytes != 0)) {
    throw_usage("alltoall of {} blocks of {} bytes in pieces of {} bytes{}", comm.size(),
                block_bytes, piece_bytes,
                piece_bytes == 0 ? ": at least 1 is allowed" : ": not in place");
  }
  std::vector<Task> tasks;
  std::size_t at = 0;
  do {
    Task& task =
        tasks.emplace_back(alltoall_task(comm, input, output, block_bytes, /*most_aside=*/0));
    if (task.input != nullptr) task.input += at;
    if (task.output != nullptr) task.output += at;
    task.problem.block_bytes = std::min(piece_bytes, block_bytes - at);
    at += task.problem.block_bytes;
  } while (at < block_bytes);
  return tasks;
}

Task alltoallv_task(const Communicator& comm, const void* input, std::span<const Part> sends,
                    void* output, std::span<const Part> receives) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  Task task{.input = bytes_of(input), .output = bytes_of(output)};
  describe(task.problem, Collective::alltoallv, comm.size(), 0);
  task.problem.in_place = sends.empty();
  if ((!sends.empty() && sends.size() != ranks) || receives.size() != ranks) {
    throw_usage("alltoallv of {} ranks with {} parts to send and {} to receive: they must be equal",
                ranks, sends.size(), receives.size());
  }
  task.sends = sends;
  task.receives = receives;
  return task;
}

Task broadcast_task(const Communicator& comm, void* buffer, std::size_t bytes, int root) {
  Task task{.input = bytes_of(buffer), .output = bytes_of(buffer)};
  describe(task.problem, Collective::broadcast, comm.size(), bytes, root);
  return task;
}

/// One block a rank: scatter, gather, allgather.
Task block_task(const Communicator& comm, Collective collective, const void* input, void* output,
                std::size_t bytes, int root = 0) {
  Task task{.input = bytes_of(input), .output = bytes_of(output)};
  describe(task.problem, collective, comm.size(), bytes, root);
  return task;
}

Task allgather_task(const Communicator& comm, const void* input, void* output,
                    std::span<const Part> parts) {
  Task task = block_task(comm, Collective::allgather, input, output, 0);
  set_layout(task.problem, parts);
  return task;
}

/// Parts that the root knows; others know the bytes of their own.
Task irregular_task(const Communicator& comm, Collective collective, const void* input,
                    void* output, std::span<const Part> parts, std::size_t bytes, int root) {
  Task task = block_task(comm, collective, input, output, 0, root);
  task.irregular = true;
  if (comm.rank() == root) {
    set_layout(task.problem, parts);
  } else {
    task.problem.layout.resize(static_cast<std::size_t>(comm.size()));
    task.problem.layout[static_cast<std::size_t>(comm.rank())] = {0, bytes};
  }
  return task;
}

/// The same of blocks that are packed.
Task packed_task(const Communicator& comm, Collective collective,
                 std::span<const std::size_t> blocks, std::size_t bytes, int root) {
  std::vector<Part> parts;
  for (const std::size_t one : blocks) parts.push_back({0, one});
  return irregular_task(comm, collective, nullptr, nullptr, parts, bytes, root);
}

Task reduction_task(const Communicator& comm, Collective collective, const void* input,
                    void* output, std::size_t elements, const Operation& operation, int root = 0) {
  const bool takes = collective != Collective::reduce || comm.rank() == root;
  Task task{.input = bytes_of(input),
            .output = bytes_of(output),
            .operation = operation,
            .in_place = takes && input == output};
  describe(task.problem, collective, comm.size(), elements, operation, root);
  return task;
}

Task reduce_scatter_task(const Communicator& comm, const void* input, void* output,
                         std::span<const std::size_t> elements, const Operation& operation) {
  Task task = reduction_task(comm, Collective::reduce_scatter, input, output, 0, operation);
  std::vector<Part> parts;
  std::ptrdiff_t end = 0;
  for (const std::size_t count : elements) {
    const auto offset = static_cast<std::size_t>(end);
    parts.push_back({offset, bytes_of(Collective::reduce_scatter, count, operation)});
    if (__builtin_add_overflow(end, parts.back().bytes, &end)) {
      throw_usage("reduce_scatter of {} bytes behind {}: at most {} bytes in all are allowed",
                  parts.back().bytes, offset, PTRDIFF_MAX);
    }
  }
  set_layout(task.problem, parts);
  return task;
}

}  // namespace

Communicator::Made Communicator::last_made() const noexcept {
  return impl_->last_made();
}
bool Communicator::repeat(const Made& made, const void* input, void* output,
                          const Operation* operation) {
  return impl_->repeat(made, bytes_of(input), bytes_of(output), operation, false);
}
bool Communicator::repeat_in_place(const Made& made, void* buffer, const Operation* operation) {
  return impl_->repeat(made, nullptr, bytes_of(buffer), operation, true);
}

void Communicator::barrier() {
  Task task = block_task(*this, Collective::barrier, nullptr, nullptr, 0);
  impl_->prepare_barrier(task.problem);
  impl_->run(task);
}
Request Communicator::barrier_init() {
  return Request(impl_->request(block_task(*this, Collective::barrier, nullptr, nullptr, 0)));
}

void Communicator::alltoall(const void* input, void* output, std::size_t block_bytes) {
  impl_->run(alltoall_task(*this, input, output, block_bytes, impl_->most_aside()));
}
Request Communicator::alltoall_init(const void* input, void* output, std::size_t block_bytes) {
  return Request(
      impl_->request(alltoall_task(*this, input, output, block_bytes, impl_->most_aside())));
}

Request Communicator::alltoall_pieces_init(const void* input, void* output, std::size_t block_bytes,
                                           std::size_t piece_bytes) {
  return Request(
      impl_->request(alltoall_piece_tasks(*this, input, output, block_bytes, piece_bytes)));
}

void Communicator::alltoallv(const void* input, std::span<const Part> sends, void* output,
                             std::span<const Part> receives) {
  impl_->run(alltoallv_task(*this, input, sends, output, receives));
}
Request Communicator::alltoallv_init(const void* input, std::span<const Part> sends, void* output,
                                     std::span<const Part> receives) {
  return Request(impl_->request(alltoallv_task(*this, input, sends, output, receives)));
}

void Communicator::neighbours(const void* input, std::span<const Edge> out, void* output,
                              std::span<const Edge> in) {
  impl_->run_neighbours(bytes_of(input), out, bytes_of(output), in);
}

bool Communicator::packs_in_parts() const {
  return impl_->packs_in_parts();
}

bool Communicator::reads_by_system_calls() const {
  return impl_->reads_by_system_calls();
}

bool Communicator::takes_system_calls(const void* output, std::size_t block_bytes) const {
  return impl_->takes_system_calls(output, block_bytes);
}

void Communicator::alltoallw(std::span<const std::size_t> sends,
                             std::span<const std::size_t> receives, const Packer& packer) {
  const auto ranks = static_cast<std::size_t>(size());
  if (sends.size() != ranks || receives.size() != ranks) {
    throw_usage(
        "alltoallw of {} ranks with {} blocks to send and {} to receive: they must be equal", ranks,
        sends.size(), receives.size());
  }
  impl_->run_packed(sends, receives, packer);
}

void Communicator::gatherw(std::size_t bytes, std::span<const std::size_t> blocks,
                           const Packer& packer, int root) {
  impl_->run_rooted_packed(packed_task(*this, Collective::gather, blocks, bytes, root), packer);
}

void Communicator::scatterw(std::span<const std::size_t> blocks, std::size_t bytes,
                            const Packer& packer, int root) {
  impl_->run_rooted_packed(packed_task(*this, Collective::scatter, blocks, bytes, root), packer);
}

void Communicator::broadcast(void* buffer, std::size_t bytes, int root) {
  impl_->run(broadcast_task(*this, buffer, bytes, root));
}
Request Communicator::broadcast_init(void* buffer, std::size_t bytes, int root) {
  return Request(impl_->request(broadcast_task(*this, buffer, bytes, root)));
}

void Communicator::scatter(const void* input, void* output, std::size_t block_bytes, int root) {
  impl_->run(block_task(*this, Collective::scatter, input, output, block_bytes, root));
}
Request Communicator::scatter_init(const void* input, void* output, std::size_t block_bytes,
                                   int root) {
  return Request(
      impl_->request(block_task(*this, Collective::scatter, input, output, block_bytes, root)));
}

void Communicator::gather(const void* input, void* output, std::size_t block_bytes, int root) {
  impl_->run(block_task(*this, Collective::gather, input, output, block_bytes, root));
}
Request Communicator::gather_init(const void* input, void* output, std::size_t block_bytes,
                                  int root) {
  return Request(
      impl_->request(block_task(*this, Collective::gather, input, output, block_bytes, root)));
}

void Communicator::allgather(const void* input, void* output, std::size_t block_bytes) {
  impl_->run(block_task(*this, Collective::allgather, input, output, block_bytes));
}
Request Communicator::allgather_init(const void* input, void* output, std::size_t block_bytes) {
  return Request(
      impl_->request(block_task(*this, Collective::allgather, input, output, block_bytes)));
}

void Communicator::scatter(const void* input, std::span<const Part> parts, void* output,
                           std::size_t bytes, int root) {
  impl_->run(irregular_task(*this, Collective::scatter, input, output, parts, bytes, root));
}
Request Communicator::scatter_init(const void* input, std::span<const Part> parts, void* output,
                                   std::size_t bytes, int root) {
  return Request(impl_->request(
      irregular_task(*this, Collective::scatter, input, output, parts, bytes, root)));
}

void Communicator::gather(const void* input, std::size_t bytes, void* output,
                          std::span<const Part> parts, int root) {
  impl_->run(irregular_task(*this, Collective::gather, input, output, parts, bytes, root));
}
Request Communicator::gather_init(const void* input, std::size_t bytes, void* output,
                                  std::span<const Part> parts, int root) {
  return Request(
      impl_->request(irregular_task(*this, Collective::gather, input, output, parts, bytes, root)));
}

void Communicator::allgather(const void* input, void* output, std::span<const Part> parts) {
  impl_->run(allgather_task(*this, input, output, parts));
}
Request Communicator::allgather_init(const void* input, void* output, std::span<const Part> parts) {
  return Request(impl_->request(allgather_task(*this, input, output, parts)));
}

void Communicator::reduce(const void* input, void* output, std::size_t elements,
                          const Operation& operation, int root) {
  impl_->run(reduction_task(*this, Collective::reduce, input, output, elements, operation, root));
}
Request Communicator::reduce_init(const void* input, void* output, std::size_t elements,
                                  const Operation& operation, int root) {
  return Request(impl_->request(
      reduction_task(*this, Collective::reduce, input, output, elements, operation, root)));
}

void Communicator::allreduce(const void* input, void* output, std::size_t elements,
                             const Operation& operation) {
  impl_->run(reduction_task(*this, Collective::allreduce, input, output, elements, operation));
}
Request Communicator::allreduce_init(const void* input, void* output, std::size_t elements,
                                     const Operation& operation) {
  return Request(impl_->request(
      reduction_task(*this, Collective::allreduce, input, output, elements, operation)));
}

void Communicator::reduce_scatter(const void* input, void* output, std::size_t elements,
                                  const Operation& operation) {
  impl_->run(reduction_task(*this, Collective::reduce_scatter, input, output, elements, operation));
}
Request Communicator::reduce_scatter_init(const void* input, void* output, std::size_t elements,
                                          const Operation& operation) {
  return Request(impl_->request(
      reduction_task(*this, Collective::reduce_scatter, input, output, elements, operation)));
}

void Communicator::reduce_scatter(const void* input, void* output,
                                  std::span<const std::size_t> elements,
                                  const Operation& operation) {
  impl_->run(reduce_scatter_task(*this, input, output, elements, operation));
}
Request Communicator::reduce_scatter_init(const void* input, void* output,
                                          std::span<const std::size_t> elements,
                                          const Operation& operation) {
  return Request(impl_->request(reduce_scatter_task(*this, input, output, elements, operation)));
}

void Communicator::scan(const void* input, void* output, std::size_t elements,
                        const Operation& operation) {
  impl_->run(reduction_task(*this, Collective::scan, input, output, elements, operation));
}
Request Communicator::scan_init(const void* input, void* output, std::size_t elements,
                                const Operation& operation) {
  return Request(
      impl_->request(reduction_task(*this, Collective::scan, input, output, elements, operation)));
}

void Communicator::exscan(const void* input, void* output, std::size_t elements,
                          const Operation& operation) {
  impl_->run(reduction_task(*this, Collective::exscan, input, output, elements, operation));
}
Request Communicator::exscan_init(const void* input, void* output, std::size_t elements,
                                  const Operation& operation) {
  return Request(impl_->request(
      reduction_task(*this, Collective::exscan, input, output, elements, operation)));
}

}  // namespace weft
