// Call buffers: the memory of a call of one of weft's collectives, and the call itself.
#pragma once

#include <cstddef>
#include <memory>

#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::tune {

/// Buffers lie where those of a program under the add-on do: long ones in the shared heap, if
/// WEFT_SHARED_HEAP allows it. All of it has been touched.
class CallBuffers {
 public:
  /// Before communicators are made: they see the heap then.
  static void start_heap();

  CallBuffers(const plan::Problem& problem, int rank);

  void call(Communicator& comm);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { deallocate(memory); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  static Memory memory(std::size_t bytes);

  plan::Problem problem_;
  Operation operation_;  // of reductions
  Memory input_, output_;
};

}  // namespace weft::tune
