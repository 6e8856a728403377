// Id list: numbers of steps or of peers, in memory that was reserved for all that may come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::engine {

class IdList {
 public:
  void reserve(std::size_t most) { ids_.resize(most); }
  void clear() noexcept { size_ = 0; }
  /// reserve() has made room for it.
  void add(std::uint32_t id) noexcept { ids_[size_++] = id; }
  /// The last one takes its place.
  void remove_at(std::size_t at) noexcept { ids_[at] = ids_[--size_]; }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::uint32_t operator[](std::size_t at) const noexcept { return ids_[at]; }
  const std::uint32_t* begin() const noexcept { return ids_.data(); }
  const std::uint32_t* end() const noexcept { return ids_.data() + size_; }

 private:
  std::vector<std::uint32_t> ids_;
  std::size_t size_ = 0;
};

}  // namespace weft::engine
