#include "mpi/recording/bytes.hpp"

#include <array>

#include "base/error.hpp"

namespace weft::mpi {

void ByteReader::refuse(std::string_view why) const {
  throw_usage("{}: at byte {}: {}", where_, place(), why);
}

std::uint64_t ByteReader::number(std::string_view what, std::uint64_t most) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (is_at_end()) refuse(fmt::format("the file ends in {}", what));
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && byte > 1) refuse(fmt::format("{}: more than 64 bits", what));
    value |= bits << shift;
    if (byte < 0x80) break;
  }
  if (value > most) refuse(fmt::format("{} is {}, at most {} is allowed", what, value, most));
  return value;
}

std::size_t ByteReader::count(std::string_view what, std::size_t each) {
  const std::uint64_t many = number(what);
  if (many > left() / each) {
    refuse(fmt::format("{}: {}, and {} bytes are left for them", what, many, left()));
  }
  return static_cast<std::size_t>(many);
}

std::uint64_t ByteReader::difference(std::string_view what, std::uint64_t from) {
  const std::uint64_t folded = number(what);
  return from + (folded >> 1 ^ ((folded & 1) != 0 ? ~std::uint64_t{0} : 0));
}

std::string_view ByteReader::take(std::string_view what, std::size_t bytes) {
  if (bytes > left()) refuse(fmt::format("the file ends in {}", what));
  at_ += bytes;
  return bytes_.substr(at_ - bytes, bytes);
}

std::string_view ByteReader::text(std::string_view what, std::size_t most) {
  return take(what, static_cast<std::size_t>(number(what, most)));
}

std::uint32_t ByteReader::word(std::string_view what) {
  std::uint32_t value = 0;
  int shift = 0;
  for (const char one : take(what, 4)) {
    value |= std::uint32_t{static_cast<unsigned char>(one)} << shift;
    shift += 8;
  }
  return value;
}

std::uint32_t checksum(std::string_view bytes) noexcept {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t sum = ~std::uint32_t{0};
  for (const char one : bytes) {
    sum = sum >> 8 ^ kTable[(sum ^ static_cast<unsigned char>(one)) & 0xff];
  }
  return ~sum;
}

}  // namespace weft::mpi
