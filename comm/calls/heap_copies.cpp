#include "comm/calls/heap_copies.hpp"

#include "base/copy_bytes.hpp"
#include "engine/heap/heap.hpp"

namespace weft::comm {

namespace heap = engine::heap;

namespace {

/// The bytes up to `bytes`; where blocks of the problem have others between them, the blocks alone:
/// what lies between may be under way in other calls.
void copy_blocks(std::byte* to, const std::byte* from, std::uint64_t bytes,
                 const plan::Problem& problem) {
  if (!problem.layout.empty() || problem.stride == problem.block_bytes) {
    return copy_bytes(to, from, bytes);
  }
  for (std::uint64_t at = 0; at < bytes; at += problem.stride) {
    copy_bytes(to + at, from + at, problem.block_bytes);
  }
}

}  // namespace

void HeapCopies::Block::Free::operator()(std::byte* memory) const noexcept {
  heap::deallocate(memory);
}

std::byte* HeapCopies::Block::reserve(std::uint64_t bytes) {
  if (bytes > bytes_) {
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(heap::allocate(bytes, 64)));
    bytes_ = memory_ != nullptr ? bytes : 0;
  }
  return memory_.get();
}

bool HeapCopies::copy_in(const Task& task, std::uint64_t input_bytes, std::uint64_t output_bytes) {
  seen_ = task;
  wanted_at_ = nullptr;
  if (input_bytes != 0 && (task.in_place || !heap::contains(task.input))) {
    std::byte* input = input_.reserve(input_bytes);
    if (input == nullptr) return false;
    copy_blocks(input, task.input, input_bytes, task.problem);
    copied_bytes_ += input_bytes;
    seen_.input = input;
    seen_.in_place = false;
  }
  if (output_bytes != 0 && !heap::contains(task.output)) {
    std::byte* output = output_.reserve(output_bytes);
    if (output == nullptr) return false;
    copy_blocks(output, task.output, output_bytes, task.problem);
    copied_bytes_ += output_bytes;
    seen_.output = output;
    wanted_at_ = task.output;
    bytes_ = output_bytes;
  }
  return true;
}

void HeapCopies::copy_out() noexcept {
  if (wanted_at_ != nullptr) copy_blocks(wanted_at_, seen_.output, bytes_, seen_.problem);
  wanted_at_ = nullptr;
}

}  // namespace weft::comm
