// Statistics of a communicator: its calls so far, what they moved, and the ways that they took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The calls of a communicator so far, on this rank, and the ways that they took.
struct Statistics {
  struct Entry {
    std::string collective;  // "alltoall", as `weft plan` names it
    std::string algorithm;   // "sa:between=bruck"
    /// Calls whose blocks, or vectors, are of this size or smaller, down to above half of it: 0, or
    /// a power of two. Where blocks differ it is their mean on this rank.
    std::uint64_t block_bytes_at_most = 0;
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;       // of this rank's inputs
    std::uint64_t messages = 0;    // sent to other nodes over the device
    std::uint64_t wire_bytes = 0;  // their payload
    double seconds = 0;            // in the calls; of those that are started, in start and wait
    /// Of these: waiting for late ranks of the node, from this rank's arrival in a call to the last
    /// arrival of another before the call was over. Ranks of other nodes are not counted, nor calls
    /// that are started. Of calls below 0.1 ms one in 64 is looked at, and stands for the others.
    double waiting_seconds = 0;
  };
  struct Rail {
    std::string name;               // "mlx5_0:1": a device's port
    std::uint64_t connections = 0;  // queue pairs that exist
    std::uint64_t sent_bytes = 0;   // that they were given, what was sent again included
  };
  std::vector<Entry> entries;
  double setup_seconds = 0;  // in preparing first calls: not in the entries
  /// What this rank had for each rank, in alltoall, alltoallv, allgather, broadcast and scatter.
  std::vector<std::uint64_t> sent_bytes;
  std::vector<Rail> rails;              // none: none was needed
  std::uint64_t connections = 0;        // queue pairs that exist, on all rails
  std::uint64_t reconnections = 0;      // of queue pairs after errors
  std::uint64_t stage_bytes = 0;        // shared memory of this rank, for data on its way
  std::uint64_t scratch_bytes = 0;      // private memory of this rank, for the same
  std::uint64_t aside_bytes = 0;        // copies of inputs that calls in place overwrite
  std::uint64_t channel_bytes = 0;      // registered memory of the connections
  std::uint64_t registrations = 0;      // of callers' buffers that were made
  std::uint64_t registration_hits = 0;  // calls that found theirs made
  std::string device;                   // "weft_soft0 (software)"; empty: none was needed
  std::string profile;  // by which algorithms are chosen: "soft (catalogue)"; empty: fixed rules
  std::uint64_t heap_bytes = 0;   // copied from and to peers' buffers in shared heaps
  std::uint64_t xpmem_bytes = 0;  // and to others where xpmem maps them
  std::uint64_t cma_bytes = 0;    // and to others by process_vm_readv
  /// How local peers' buffers are read: "same process", "shared heap" (those elsewhere by the
  /// next), "xpmem", "cma", "staged".
  std::string view;
  std::string waiting;             // how ranks wait, and why: "sleep (8 ranks on 2 cores)"
  std::vector<std::string> notes;  // slower paths that were taken, and why
};

}  // namespace weft
