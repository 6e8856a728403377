#include "comm/irregular/block_ways.hpp"

#include <algorithm>

#include "engine/program/inline_messages.hpp"

namespace weft::comm {

BlockWay way_of(std::uint64_t bytes, std::uint64_t most_staged) noexcept {
  if (bytes == 0) return BlockWay::none;
  if (bytes > most_staged) return BlockWay::straight;
  return bytes <= engine::kInlineBytes ? BlockWay::on_signal : BlockWay::staged;
}

void BlockWays::change_to(std::span<const plan::Block> row) {
  if (histories_.empty()) {
    ways_.reserve(row.size());
    histories_.resize(row.size());
    ways_.resize(row.size());
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    History& history = histories_[i];
    if (row[i].bytes == history.bytes) continue;
    history.bytes = row[i].bytes;
    const BlockWay needed = way_of(history.bytes, most_staged_);
    if (needed < ways_[i] && history.left > 0) {
      --history.left;
      continue;
    }
    if (holds_ && needed < ways_[i]) {
      history.patience = std::clamp<std::uint16_t>(kLonger * history.patience, kLonger, kLongest);
    }
    history.left = history.patience;
    ways_[i] = needed;
  }
}

std::vector<plan::Block> BlockWays::shape() const {
  std::vector<plan::Block> row;
  row.reserve(ways_.size());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    std::uint64_t bytes = histories_[i].bytes;
    if (way_of(bytes, most_staged_) != ways_[i]) {
      const bool is_staged = ways_[i] == BlockWay::staged;
      bytes = ways_[i] == BlockWay::straight ? most_staged_ + 1
              : is_staged                    ? engine::kInlineBytes + 1
                                             : 1;
    }
    row.push_back({end, bytes});
    end += bytes;
  }
  return row;
}

}  // namespace weft::comm
