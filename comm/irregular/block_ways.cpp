#include "comm/irregular/block_ways.hpp"

#include <algorithm>

#include "engine/program/inline_messages.hpp"

namespace weft::comm {

BlockWay way_of(std::uint64_t bytes, std::uint64_t most_staged) noexcept {
  if (bytes == 0) return BlockWay::none;
  if (bytes > most_staged) return BlockWay::straight;
  return bytes <= engine::kInlineBytes ? BlockWay::on_signal : BlockWay::staged;
}

bool BlockWays::begin_call(std::span<const plan::Block> row, bool changed) {
  if (ways_.empty()) {
    histories_.resize(row.size());
    ways_.resize(row.size());
    changed = true;
  }
  ++calls_;
  has_changed_ = false;
  for (std::size_t i = 0; changed && i < row.size(); ++i) {
    if (row[i].bytes != histories_[i].bytes) take_size(i, row[i].bytes);
  }
  if (calls_ >= next_fall_) let_fall();
  return has_changed_;
}

void BlockWays::take_size(std::size_t block, std::uint64_t bytes) noexcept {
  History& history = histories_[block];
  history.bytes = bytes;
  const BlockWay needed = way_of(bytes, most_staged_);
  if (needed >= ways_[block]) {
    has_changed_ |= needed != ways_[block];
    ways_[block] = needed;
    history.falls_at = kNever;
  } else if (history.falls_at == kNever) {
    history.falls_at = calls_ + history.patience;
    next_fall_ = std::min(next_fall_, history.falls_at);
  }
}

void BlockWays::let_fall() noexcept {
  next_fall_ = kNever;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    History& history = histories_[i];
    if (history.falls_at <= calls_) {
      history.falls_at = kNever;
      ways_[i] = way_of(history.bytes, most_staged_);
      has_changed_ = true;
      if (holds_) {
        history.patience = std::clamp<std::uint16_t>(kLonger * history.patience, kLonger, kLongest);
      }
    }
    next_fall_ = std::min(next_fall_, history.falls_at);
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
