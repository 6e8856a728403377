#include "sim/hardware_times.hpp"

namespace weft::sim {

HardwareTimes::HardwareTimes(const Hardware& hardware)
    : eager_bytes(hardware.adapter.eager_bytes),
      receiver_first(hardware.adapter.receiver_first),
      stored_bytes(hardware.adapter.pio_bytes),
      counts_senders(hardware.adapter.senders.points.size() > 1),
      post(to_time(hardware.adapter.post_ns)),
      into_caller(to_time(hardware.adapter.into_caller_ns)),
      poll(to_time(hardware.adapter.poll_ns)),
      match(to_time(hardware.adapter.match_ns)),
      dma_start(to_time(hardware.adapter.dma_start_ns)),
      queue_gap(to_time(hardware.adapter.queue_gap_ns)),
      store(hardware.adapter.pio_bytes_per_ns),
      store_into_caller(hardware.adapter.into_caller_bytes_per_ns > 0
                            ? hardware.adapter.into_caller_bytes_per_ns
                            : hardware.adapter.pio_bytes_per_ns),
      take(hardware.adapter.take_bytes_per_ns),
      copy_start(to_time(hardware.node.copy_start_ns)),
      signal(to_time(hardware.node.signal_ns)),
      call(to_time(hardware.node.call_ns)),
      cached(hardware.node.cached_bytes_per_ns),
      memory(hardware.node.memory_bytes_per_ns),
      fresh(hardware.node.fresh_bytes_per_ns),
      reduce(hardware.node.reduce_bytes_per_ns),
      call_bytes(hardware.node.call_bytes_per_ns > 0 ? hardware.node.call_bytes_per_ns
                                                     : hardware.node.cached_bytes_per_ns) {}

}  // namespace weft::sim
