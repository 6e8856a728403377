#include "comm/calls/usage.hpp"

namespace weft::comm {

std::size_t Usage::entry_for(plan::Collective collective, const std::string& algorithm) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].collective == to_string(collective) && entries_[i].algorithm == algorithm) {
      return i;
    }
  }
  Statistics::Entry entry;
  entry.collective = to_string(collective);
  entry.algorithm = algorithm;
  entries_.push_back(std::move(entry));
  ticks_.push_back(0);
  return entries_.size() - 1;
}

std::vector<Statistics::Entry> Usage::entries() const {
  std::vector<Statistics::Entry> entries = entries_;
  for (std::size_t i = 0; i < ticks_.size(); ++i) {
    entries[i].seconds = stopwatch_.seconds(ticks_[i]);
  }
  return entries;
}

}  // namespace weft::comm
