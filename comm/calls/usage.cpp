#include "comm/calls/usage.hpp"

#include <algorithm>
#include <bit>

namespace weft::comm {

std::size_t Usage::entry_for(plan::Collective collective, const std::string& algorithm,
                             std::uint64_t block_bytes) {
  const std::uint64_t most = block_bytes == 0 ? 0 : std::bit_ceil(block_bytes);
  const auto found = std::ranges::find_if(names_, [&](const Name& name) {
    return name.collective == collective && name.block_bytes_at_most == most &&
           name.algorithm == algorithm;
  });
  const auto entry = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end()) {
    names_.push_back({collective, algorithm, most});
    counts_.emplace_back();
  }
  return entry;
}

std::uint64_t Usage::end_set_up() noexcept {
  const std::uint64_t now = Stopwatch::ticks();
  setup_ticks_ += now - began_;
  return began_ = now;
}

std::vector<Statistics::Entry> Usage::entries() const {
  std::vector<Statistics::Entry> entries;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Counts& counts = counts_[i];
    Statistics::Entry& entry = entries.emplace_back();
    entry.collective = to_string(names_[i].collective);
    entry.algorithm = names_[i].algorithm;
    entry.block_bytes_at_most = names_[i].block_bytes_at_most;
    entry.calls = counts.calls;
    entry.bytes = counts.bytes;
    entry.messages = counts.messages;
    entry.wire_bytes = counts.wire_bytes;
    entry.seconds = stopwatch_.seconds(counts.ticks);
    // Calls that stand for others may have waited longer than these took.
    const double waiting = stopwatch_.seconds(std::min(counts.waiting_ticks, counts.ticks));
    entry.waiting_seconds = std::min(waiting, entry.seconds);
  }
  return entries;
}

std::uint64_t Usage::sent_to_each(std::size_t ranks) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    switch (names_[i].collective) {
      case plan::Collective::alltoall:
      case plan::Collective::scatter:
        bytes += counts_[i].bytes / ranks;
        break;
      case plan::Collective::allgather:
      case plan::Collective::broadcast:
        bytes += counts_[i].bytes;
        break;
      default:
        break;
    }
  }
  return bytes;
}

}  // namespace weft::comm
