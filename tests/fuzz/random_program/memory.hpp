// Memory of a drawn call: blocks of elements of drawn datatypes between guards, and what it must
// hold afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layouts.hpp"

namespace weft::test {

/// Elements of one datatype that lie one behind the other, an extent apart.
struct Block {
  const Layout* layout = nullptr;
  int count = 0;
  MPI_Aint at = 0;         // bytes behind the buffer's address
  std::uint64_t name = 0;  // of what it holds: the same where it is sent and where it is received
};

class Memory {
 public:
  /// Room for the blocks, filled with anything.
  Memory(std::vector<Block> blocks, Random& random);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* address() noexcept { return bytes_.data() + begin_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// Where the pieces of element `index` of a block begin, which `must` hold or do hold.
  std::byte* must(const Block& block, int index) noexcept;
  std::byte* holds(const Block& block, int index) noexcept;
  /// The block must hold, or does hold, what its name says in this turn of the call.
  void expect_named(const Block& block, std::uint64_t turn) noexcept;
  void hold_named(const Block& block, std::uint64_t turn) noexcept;
  /// Anything is right for the block.
  void expect_anything(const Block& block) noexcept;
  /// Takes all as it is for what must be.
  void begin_turn() { must_ = bytes_; }
  /// How many bytes are not as they must be, and the first one of them behind the buffer's address.
  int wrong(std::ptrdiff_t* first) const noexcept;

 private:
  std::vector<Block> blocks_;
  std::vector<std::byte> bytes_, must_;
  std::ptrdiff_t begin_ = 0;  // of the buffer's address
};

/// Whether no byte belongs to two elements.
bool are_apart(const std::vector<Block>& blocks);

}  // namespace weft::test
