// The collectives of a communicator but alltoall: each says which problem it is.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "comm/impl.hpp"
#include "weft/weft.hpp"

namespace weft {

using plan::Collective;
using plan::Problem;

namespace {

const std::byte* bytes_of(const void* buffer) {
  return static_cast<const std::byte*>(buffer);
}
std::byte* bytes_of(void* buffer) {
  return static_cast<std::byte*>(buffer);
}

Problem problem_of(Collective collective, int ranks, std::size_t bytes, int root = 0) {
  if (root < 0 || root >= ranks) {
    throw_usage("{} with root {}: a rank from 0 to {} is allowed", to_string(collective), root,
                ranks - 1);
  }
  Problem problem = Problem::alltoall(ranks, bytes);
  problem.collective = collective;
  problem.root = root;
  return problem;
}

Problem problem_of(Collective collective, int ranks, std::size_t elements,
                   const Operation& operation, int root = 0) {
  if (operation.element_bytes == 0 || operation.combine == nullptr) {
    throw_usage("{} with an operation on elements of {} bytes{}", to_string(collective),
                operation.element_bytes,
                operation.combine == nullptr ? " that combines nothing" : "");
  }
  Problem problem = problem_of(collective, ranks, elements * operation.element_bytes, root);
  problem.element_bytes = operation.element_bytes;
  problem.commutative = operation.commutative;
  problem.associative = operation.associative;
  return problem;
}

void set_layout(Problem& problem, std::span<const Part> parts) {
  if (parts.size() != static_cast<std::size_t>(problem.ranks)) {
    throw_usage("{} of {} ranks with {} parts: they must be equal", to_string(problem.collective),
                problem.ranks, parts.size());
  }
  for (const Part& part : parts) problem.layout.push_back({part.offset, part.bytes});
}

/// What a rank that is not the root knows: its own block.
void set_own_block(Problem& problem, int rank, std::size_t bytes) {
  problem.layout.resize(static_cast<std::size_t>(problem.ranks));
  problem.layout[static_cast<std::size_t>(rank)] = {0, bytes};
}

}  // namespace

void Communicator::barrier() {
  impl_->run(problem_of(Collective::barrier, size(), 0), nullptr, nullptr);
}

void Communicator::broadcast(void* buffer, std::size_t bytes, int root) {
  const Problem problem = problem_of(Collective::broadcast, size(), bytes, root);
  if (bytes != 0) impl_->run(problem, bytes_of(buffer), bytes_of(buffer));
}

void Communicator::scatter(const void* input, void* output, std::size_t block_bytes, int root) {
  const Problem problem = problem_of(Collective::scatter, size(), block_bytes, root);
  if (block_bytes != 0) impl_->run(problem, bytes_of(input), bytes_of(output));
}

void Communicator::gather(const void* input, void* output, std::size_t block_bytes, int root) {
  const Problem problem = problem_of(Collective::gather, size(), block_bytes, root);
  if (block_bytes != 0) impl_->run(problem, bytes_of(input), bytes_of(output));
}

void Communicator::allgather(const void* input, void* output, std::size_t block_bytes) {
  const Problem problem = problem_of(Collective::allgather, size(), block_bytes);
  if (block_bytes != 0) impl_->run(problem, bytes_of(input), bytes_of(output));
}

void Communicator::scatter(const void* input, std::span<const Part> parts, void* output,
                           std::size_t bytes, int root) {
  Problem problem = problem_of(Collective::scatter, size(), 0, root);
  if (rank() == root) {
    set_layout(problem, parts);
  } else {
    set_own_block(problem, rank(), bytes);
  }
  impl_->run_irregular(problem, bytes_of(input), bytes_of(output));
}

void Communicator::gather(const void* input, std::size_t bytes, void* output,
                          std::span<const Part> parts, int root) {
  Problem problem = problem_of(Collective::gather, size(), 0, root);
  if (rank() == root) {
    set_layout(problem, parts);
  } else {
    set_own_block(problem, rank(), bytes);
  }
  impl_->run_irregular(problem, bytes_of(input), bytes_of(output));
}

void Communicator::allgather(const void* input, void* output, std::span<const Part> parts) {
  Problem problem = problem_of(Collective::allgather, size(), 0);
  set_layout(problem, parts);
  const auto is_empty = [](const Part& part) { return part.bytes == 0; };
  if (std::ranges::all_of(parts, is_empty)) return;
  impl_->run(problem, bytes_of(input), bytes_of(output));
}

void Communicator::reduce(const void* input, void* output, std::size_t elements,
                          const Operation& operation, int root) {
  const Problem problem = problem_of(Collective::reduce, size(), elements, operation, root);
  if (elements == 0) return;
  const bool gives = rank() == root;
  impl_->run(problem, gives ? impl_->input_of(input, output, problem.block_bytes) : bytes_of(input),
             bytes_of(output), &operation);
}

void Communicator::allreduce(const void* input, void* output, std::size_t elements,
                             const Operation& operation) {
  const Problem problem = problem_of(Collective::allreduce, size(), elements, operation);
  if (elements == 0) return;
  impl_->run(problem, impl_->input_of(input, output, problem.block_bytes), bytes_of(output),
             &operation);
}

void Communicator::reduce_scatter(const void* input, void* output, std::size_t elements,
                                  const Operation& operation) {
  const Problem problem = problem_of(Collective::reduce_scatter, size(), elements, operation);
  if (elements == 0) return;
  impl_->run(problem, impl_->input_of(input, output, problem.input_bytes(rank())), bytes_of(output),
             &operation);
}

void Communicator::reduce_scatter(const void* input, void* output,
                                  std::span<const std::size_t> elements,
                                  const Operation& operation) {
  Problem problem = problem_of(Collective::reduce_scatter, size(), 0, operation);
  std::vector<Part> parts;
  std::size_t offset = 0;
  for (const std::size_t count : elements) {
    parts.push_back({offset, count * operation.element_bytes});
    offset += parts.back().bytes;
  }
  set_layout(problem, parts);
  if (offset == 0) return;
  impl_->run(problem, impl_->input_of(input, output, offset), bytes_of(output), &operation);
}

void Communicator::scan(const void* input, void* output, std::size_t elements,
                        const Operation& operation) {
  const Problem problem = problem_of(Collective::scan, size(), elements, operation);
  if (elements == 0) return;
  impl_->run(problem, impl_->input_of(input, output, problem.block_bytes), bytes_of(output),
             &operation);
}

void Communicator::exscan(const void* input, void* output, std::size_t elements,
                          const Operation& operation) {
  const Problem problem = problem_of(Collective::exscan, size(), elements, operation);
  if (elements == 0) return;
  impl_->run(problem, impl_->input_of(input, output, problem.block_bytes), bytes_of(output),
             &operation);
}

}  // namespace weft
