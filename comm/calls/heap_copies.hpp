// Heap copies: a call's buffers copied to the shared heap, where peers see them.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/setup/call.hpp"

namespace weft::comm {

/// Where peers see shared heaps and nothing else, buffers that lie elsewhere are copied: inputs
/// before a call, outputs before it (it may leave a part of them as it is) and after it.
class HeapCopies {
 public:
  /// Before the call: copies the task's buffers. False when the heap has no room.
  bool copy_in(const Task& task, std::uint64_t input_bytes, std::uint64_t output_bytes);
  /// The task with buffers that peers see.
  const Task& task() const noexcept { return seen_; }
  /// After the call: copies the output to where the caller wants it.
  void copy_out() noexcept;
  /// Of all inputs and outputs so far.
  std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }

 private:
  class Block {
   public:
    /// Null when there is no room. What it held may be gone.
    std::byte* reserve(std::uint64_t bytes);

   private:
    struct Free {
      void operator()(std::byte* memory) const noexcept;
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::uint64_t bytes_ = 0;
  };

  Task seen_{};
  Block input_, output_;
  std::byte* wanted_at_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace weft::comm
