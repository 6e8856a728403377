// The report of a communicator's resources, for its statistics.
#include <fmt/format.h>

#include "comm/setup/resources.hpp"
#include "engine/heap/heap.hpp"

namespace weft::comm {

namespace {

void report_node(const engine::NodeControl& node, Statistics& statistics) {
  statistics.heap_bytes = node.peers().moved_bytes(engine::View::shared_heap);
  statistics.xpmem_bytes = node.peers().moved_bytes(engine::View::xpmem);
  statistics.cma_bytes = node.peers().moved_bytes(engine::View::cma);
  if (node.peers().moved_bytes(engine::View::staged) != 0) {
    statistics.notes.emplace_back(
        "process_vm_readv was refused for some buffers of peers: their owners copied them");
  }
}

void report_heap(Statistics& statistics) {
  if (const char* reason = engine::heap::hidden_because) statistics.notes.emplace_back(reason);
  if (engine::heap::refused() != 0) {
    statistics.notes.push_back(
        fmt::format("the shared heap of {} bytes was full: other memory was used",
                    engine::heap::range.bytes.load()));
  }
}

void report_links(const engine::Links& links, Statistics& statistics) {
  engine::Links::Usage usage = links.usage();
  statistics.connections = usage.pairs;
  statistics.reconnections = usage.reconnections;
  statistics.channel_bytes = usage.bytes;
  for (auto& rail : usage.rails) {
    statistics.rails.push_back({std::move(rail.name), rail.pairs, rail.sent_bytes});
  }
  const auto* registrations = links.registrations();
  if (registrations == nullptr) return;
  const auto& counters = registrations->counters();
  statistics.registrations = counters.misses;
  statistics.registration_hits = counters.hits;
  if (counters.refused != 0) {
    statistics.notes.push_back(
        fmt::format("{}: what could not be registered was copied", registrations->error()));
  }
  const std::string& why_not = registrations->cache().why_not();
  if (statistics.registrations != 0 && !why_not.empty()) {
    statistics.notes.push_back(
        fmt::format("no registration was kept for later calls: {}", why_not));
  }
}

}  // namespace

void Resources::report(Statistics& statistics) const {
  statistics.notes = members_.notes();
  statistics.waiting = facts_->waiting.why;
  statistics.view = view_name_;
  statistics.device = device_name_;
  statistics.stage_bytes = stages_ == nullptr ? 0 : 2 * stages_->half_bytes();
  statistics.scratch_bytes = executor_->scratch_bytes();
  if (node_) report_node(*node_, statistics);
  report_heap(statistics);
  report_links(*links_, statistics);
}

}  // namespace weft::comm
