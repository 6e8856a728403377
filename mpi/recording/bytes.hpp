// Bytes of a recording: numbers of as many bytes as they need, texts, and a reader that never looks
// past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::mpi {

/// Appends to a text.
class ByteWriter {
 public:
  /// Seven bits a byte, the lowest first; the top bit of each byte but the last is set.
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }
  /// The same for numbers that may be negative: 0, -1, 1, -2, .. as 0, 1, 2, 3, ..
  void difference(std::uint64_t to, std::uint64_t from) {
    const std::uint64_t by = to - from;
    number(by << 1 ^ (by >> 63 != 0 ? ~std::uint64_t{0} : 0));
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  /// Four bytes, the lowest first.
  void word(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what a ByteWriter wrote. What is not there, or is out of bounds, is a UsageError that
/// begins with `where` and the place.
class ByteReader {
 public:
  ByteReader(std::string_view where, std::string_view bytes, std::size_t place = 0)
      : where_(where), bytes_(bytes), place_(place) {}

  bool is_at_end() const { return at_ == bytes_.size(); }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t place() const { return place_ + at_; }

  std::uint64_t number(std::string_view what, std::uint64_t most = UINT64_MAX);
  std::uint32_t small(std::string_view what, std::uint64_t most = UINT32_MAX) {
    return static_cast<std::uint32_t>(number(what, most));
  }
  /// How many items of at least `each` bytes follow.
  std::size_t count(std::string_view what, std::size_t each);
  std::uint64_t difference(std::string_view what, std::uint64_t from);
  std::string_view text(std::string_view what, std::size_t most);
  std::string_view take(std::string_view what, std::size_t bytes);
  std::uint32_t word(std::string_view what);
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  std::string_view where_, bytes_;
  std::size_t place_;  // of the bytes in the file
  std::size_t at_ = 0;
};

/// Of a block: CRC-32 (that of zlib).
std::uint32_t checksum(std::string_view bytes) noexcept;

}  // namespace weft::mpi
