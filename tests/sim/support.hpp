// Support for the simulator's tests: hardware with round numbers, and plans written in place.
#pragma once

#include <functional>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/builder.hpp"
#include "sim/simulator.hpp"

namespace weft::sim {

/// Hardware with all effects off, except 1 byte per nanosecond on the wire.
inline Hardware bare_hardware() {
  Hardware hardware;
  hardware.adapter.eager_bytes = Adapter::kAllSizes;
  hardware.adapter.bytes_per_ns = 1;
  hardware.adapter.latency_ns = 1000;
  hardware.node.cache_bytes = 1 << 30;
  hardware.node.total_bytes_per_ns = 0;  // no limit
  return hardware;
}

/// Plans of all ranks, made by calling `emit` with the builder of each.
inline PlanSource plans_by(int ranks, std::function<void(plan::Builder&)> emit,
                           std::uint64_t buffer_bytes = 1 << 26) {
  return [ranks, emit = std::move(emit), buffer_bytes](int rank) {
    plan::Builder builder(rank, ranks, buffer_bytes, buffer_bytes);
    emit(builder);
    return std::move(builder).finish();
  };
}

inline plan::Slice input(int rank, std::uint64_t bytes, std::uint64_t offset = 0) {
  return plan::Slice::contiguous(plan::Space::input, rank, offset, bytes);
}
inline plan::Slice output(int rank, std::uint64_t bytes, std::uint64_t offset = 0) {
  return plan::Slice::contiguous(plan::Space::output, rank, offset, bytes);
}

/// `messages` independent messages from rank 0 to rank 1.
inline PlanSource stream(int ranks, int messages, std::uint64_t bytes) {
  return plans_by(ranks, [=](plan::Builder& builder) {
    for (int i = 0; i < messages; ++i) {
      if (builder.rank() == 0) builder.send(1, input(0, bytes));
      if (builder.rank() == 1)
        builder.recv(0, output(1, bytes, static_cast<std::uint64_t>(i) * bytes));
    }
  });
}

}  // namespace weft::sim
