#include "memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::test {

namespace {

constexpr MPI_Aint kGuard = 64;

std::pair<MPI_Aint, MPI_Aint> span_of(const std::vector<Block>& blocks) {
  MPI_Aint low = 0;
  MPI_Aint high = 0;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const MPI_Aint last = (block.count - 1) * block.layout->extent;
    low = std::min({low, block.at + block.layout->low, block.at + block.layout->low + last});
    high = std::max({high, block.at + block.layout->high, block.at + block.layout->high + last});
  }
  return {low, high};
}

/// The numbers of which a named block consists.
void write_named(const Block& block, std::uint64_t turn, std::byte* address) noexcept {
  Random random({block.name, turn});
  for (int i = 0; i < block.count; ++i) {
    std::byte* element = address + block.at + i * block.layout->extent;
    for (const Piece& piece : block.layout->pieces) {
      for (int done = 0; done < piece.bytes; done += 8) {
        const std::uint64_t bits = random.next();
        const int many = std::min(8, piece.bytes - done);
        std::memcpy(element + piece.at + done, &bits, static_cast<std::size_t>(many));
      }
    }
  }
}

}  // namespace

Memory::Memory(std::vector<Block> blocks, Random& random) : blocks_(std::move(blocks)) {
  const auto [low, high] = span_of(blocks_);
  begin_ = kGuard - low + random.below(2) * random.below(16);
  bytes_.resize(static_cast<std::size_t>(begin_ + high + kGuard));
  std::uint64_t bits = random.next();
  for (std::byte& each : bytes_) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    each = static_cast<std::byte>(bits >> 56U);
  }
  must_ = bytes_;
}

std::byte* Memory::must(const Block& block, int index) noexcept {
  return must_.data() + begin_ + block.at + index * block.layout->extent;
}

std::byte* Memory::holds(const Block& block, int index) noexcept {
  return bytes_.data() + begin_ + block.at + index * block.layout->extent;
}

void Memory::expect_named(const Block& block, std::uint64_t turn) noexcept {
  write_named(block, turn, must_.data() + begin_);
}

void Memory::hold_named(const Block& block, std::uint64_t turn) noexcept {
  write_named(block, turn, address());
}

void Memory::expect_anything(const Block& block) noexcept {
  for (int i = 0; i < block.count; ++i) {
    for (const Piece& piece : block.layout->pieces) {
      std::memcpy(must(block, i) + piece.at, holds(block, i) + piece.at,
                  static_cast<std::size_t>(piece.bytes));
    }
  }
}

int Memory::wrong(std::ptrdiff_t* first) const noexcept {
  int found = 0;
  if (bytes_ == must_) return 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i] == must_[i]) continue;
    if (found++ == 0) *first = static_cast<std::ptrdiff_t>(i) - begin_;
  }
  return found;
}

bool are_apart(const std::vector<Block>& blocks) {
  const auto [low, high] = span_of(blocks);
  std::vector<char> taken(static_cast<std::size_t>(high - low));
  for (const Block& block : blocks) {
    for (int i = 0; i < block.count; ++i) {
      for (const Piece& piece : block.layout->pieces) {
        const MPI_Aint begin = block.at + i * block.layout->extent + piece.at - low;
        for (MPI_Aint at = begin; at < begin + piece.bytes; ++at) {
          if (taken[static_cast<std::size_t>(at)]++ != 0) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace weft::test
