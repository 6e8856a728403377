// Files of boards: found among the descriptors of processes, and copied.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "engine/board/layout.hpp"

namespace weft::engine::board {

/// Numbers that name entries of a folder in /proc, ascending.
std::vector<int> numbers_in(const std::string& folder);

/// The boards among the descriptors of a process: of a child of fork() that of its parent, too.
std::vector<std::string> boards_of(pid_t process);

/// Whether a process calls itself so: in its own namespace its number may be another.
bool is_number_of(std::int32_t number, pid_t process);

/// Copy of a board, aligned as it was; empty where the file is not this user's.
class Content {
 public:
  explicit Content(const std::string& path);
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(lines_)); }
  bool operator==(const Content& other) const;

 private:
  struct alignas(kAlignment) Line {
    std::array<std::byte, kAlignment> bytes;
  };
  std::vector<Line> lines_;
};

/// Where a change was under way, two copies differ: one that does not, or the last of some.
Content stable_content(const std::string& path);

/// Ages of ticks, from a board's own pair of counter and clock, and from now.
class Ages {
 public:
  explicit Ages(const Header& header);
  double of(std::uint64_t ticks) const {
    return ticks >= now_ ? 0 : static_cast<double>(now_ - ticks) * seconds_;
  }

 private:
  std::uint64_t now_;
  double seconds_ = 0;  // of a tick
};

inline std::uint64_t value(const Word& word) {
  return word.load(std::memory_order_relaxed);
}

/// Calls use(posting, all of its bytes, where it lies, ages) for each of a board that is this
/// process's own.
template <class Use>
void for_each_posting(std::span<const std::byte> bytes, pid_t process, Use use) {
  if (bytes.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic || header.posting_bytes != sizeof(Posting) ||
      !is_number_of(header.process, process)) {
    return;
  }
  const Ages ages(header);
  for (std::size_t at = sizeof(Header); at + 2 * sizeof(Word) <= bytes.size();) {
    const auto rest = bytes.subspan(at);
    const auto* posting = reinterpret_cast<const Posting*>(rest.data());
    const std::uint64_t total = value(posting->total_bytes);
    if (total < kAlignment || total % kAlignment != 0 || total > rest.size()) return;
    if (value(posting->magic) == kPostingMagic && total >= sizeof(Posting)) {
      use(*posting, rest.first(total), at, ages);
    }
    at += total;
  }
}

}  // namespace weft::engine::board
