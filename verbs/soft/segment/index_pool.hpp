// Index pool: hands out entries of the tables of a control segment.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::soft {

/// Hands out indices in [first, limit), going round, so that a returned one is not used again at
/// once and a stale number or key is noticed.
class IndexPool {
 public:
  IndexPool(std::uint32_t first, std::uint32_t limit, std::uint32_t start)
      : first_(first), next_(first + start % (limit - first)), used_(limit, false) {}

  std::optional<std::uint32_t> take() {
    std::lock_guard lock(mutex_);
    const auto limit = static_cast<std::uint32_t>(used_.size());
    for (std::uint32_t tried = first_; tried < limit; ++tried) {
      const std::uint32_t index = next_;
      next_ = index + 1 == limit ? first_ : index + 1;
      if (used_[index]) continue;
      used_[index] = true;
      return index;
    }
    return std::nullopt;
  }

  void give_back(std::uint32_t index) {
    std::lock_guard lock(mutex_);
    used_[index] = false;
  }

 private:
  std::mutex mutex_;
  std::uint32_t first_;
  std::uint32_t next_;
  std::vector<bool> used_;
};

}  // namespace weft::soft
