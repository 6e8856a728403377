#include "tune/ranks/call_buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "engine/heap/heap.hpp"

namespace weft::tune {

namespace {

namespace heap = engine::heap;
using plan::Collective;

constexpr std::size_t kCacheLine = 64;

}  // namespace

void CallBuffers::start_heap() {
  if (!heap::is_left_to_weft()) return;  // communicators start one that is asked for
  if (heap::start(0).empty()) heap::has_only_long_blocks = true;
}

CallBuffers::Memory CallBuffers::memory(std::size_t bytes) {
  const std::size_t whole = std::max<std::size_t>(1, (bytes + kCacheLine - 1) / kCacheLine);
  const std::size_t size = whole * kCacheLine;
  void* block = nullptr;
  if (heap::is_serving() && (bytes >= heap::kLongBlock || !heap::has_only_long_blocks)) {
    block = heap::allocate(size, kCacheLine);
  }
  if (block == nullptr) block = std::aligned_alloc(kCacheLine, size);
  if (block == nullptr) throw std::bad_alloc();
  std::memset(block, 0, size);
  return Memory(static_cast<std::byte*>(block));
}

CallBuffers::CallBuffers(const plan::Problem& problem, int rank)
    : problem_(problem),
      input_(memory(problem.input_bytes(rank))),
      output_(memory(problem.output_bytes(rank))) {
  if (!plan::is_reduction(problem.collective)) return;
  operation_ = problem.element_bytes == size_of(Type::float64)
                   ? operation(Operator::sum, Type::float64)
                   : operation(Operator::bitwise_or, Type::uint8);
}

void CallBuffers::call(Communicator& comm) {
  const std::byte* in = input_.get();
  std::byte* out = output_.get();
  const std::size_t bytes = problem_.block_bytes;
  const std::size_t elements = bytes / std::max<std::uint64_t>(problem_.element_bytes, 1);
  switch (problem_.collective) {
    case Collective::alltoall:
      return comm.alltoall(in, out, bytes);
    case Collective::broadcast:
      // The root has it in its input, the others in their output.
      return comm.broadcast(comm.rank() == problem_.root ? input_.get() : out, bytes,
                            problem_.root);
    case Collective::scatter:
      return comm.scatter(in, out, bytes, problem_.root);
    case Collective::gather:
      return comm.gather(in, out, bytes, problem_.root);
    case Collective::allgather:
      return comm.allgather(in, out, bytes);
    case Collective::barrier:
      return comm.barrier();
    case Collective::reduce:
      return comm.reduce(in, out, elements, operation_, problem_.root);
    case Collective::allreduce:
      return comm.allreduce(in, out, elements, operation_);
    case Collective::reduce_scatter:
      return comm.reduce_scatter(in, out, elements, operation_);
    case Collective::scan:
      return comm.scan(in, out, elements, operation_);
    case Collective::exscan:
      return comm.exscan(in, out, elements, operation_);
    case Collective::alltoallv:
      throw_usage("alltoallv has no one size to be measured");
  }
}

}  // namespace weft::tune
