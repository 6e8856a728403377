// Paged list: a list of fixed length of which most elements may never be asked for.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace weft {

/// Elements are made page by page, when one of a page is first written. Until then they read as
/// `T()`.
template <class T>
class Paged {
 public:
  static constexpr std::size_t kPage = 16;  // elements

  Paged() = default;
  explicit Paged(std::size_t size) : size_(size), pages_((size + kPage - 1) / kPage) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// Makes the page. `index` must be below size(), here and below.
  T& operator[](std::size_t index) {
    auto& page = pages_[index / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    return (*page)[index % kPage];
  }
  const T& operator[](std::size_t index) const {
    static const T nothing = T();
    const auto& page = pages_[index / kPage];
    return page == nullptr ? nothing : (*page)[index % kPage];
  }
  /// Whether its page has been made.
  bool has_page_of(std::size_t index) const noexcept { return pages_[index / kPage] != nullptr; }

 private:
  using Page = std::array<T, kPage>;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace weft
