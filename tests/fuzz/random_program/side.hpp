// One buffer of a collective that moves data: blocks of one datatype, or of one each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "call.hpp"
#include "memory.hpp"

namespace weft::test {

/// What a block holds: `units` times the signature of the call.
struct Content {
  int units = 0;
  std::uint64_t name = 0;
  std::uint64_t layout = 0;  // seed of its datatype, where each block has one
};

enum class Spread {
  regular,    // one count, side by side
  irregular,  // counts and displacements
  typed       // datatypes, too; displacements in bytes
};

class Side {
 public:
  struct Shape {
    const Signature& signature;
    int common;  // divides the units of all blocks
    Spread spread;
    std::uint64_t layout;  // seed of the datatype, where all blocks have one
    int depth;             // of datatypes, at most
  };
  Side(const Shape& shape, const std::vector<Content>& contents, Random& random);

  void* address() noexcept { return memory_->address(); }
  int count() const noexcept { return counts_.empty() ? 0 : counts_[0]; }
  const int* counts() const noexcept { return counts_.data(); }
  const int* displacements() const noexcept { return displacements_.data(); }
  MPI_Datatype type() const noexcept { return types_[0]; }
  const MPI_Datatype* types() const noexcept { return types_.data(); }
  std::size_t blocks() const noexcept { return memory_->blocks().size(); }

  void begin_turn() { memory_->begin_turn(); }
  /// The block must hold its content after the call.
  void expect(std::size_t block, std::uint64_t turn) noexcept;
  /// It holds it before the call already, too.
  void give(std::size_t block, std::uint64_t turn) noexcept;
  /// Before the call it holds another content, as long.
  void give_other(std::size_t block, std::uint64_t name, std::uint64_t turn) noexcept;
  const Memory& memory() const noexcept { return *memory_; }
  void free_types();

 private:
  void draw_layout(const Shape& shape, std::uint64_t seed, int depth);
  void draw_layouts(const Shape& shape, const std::vector<Content>& contents, int depth);
  std::vector<Block> placed(const std::vector<Content>& contents, Spread spread, Random& random);

  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<int> units_;  // of an element of each layout
  std::vector<int> counts_, displacements_;
  std::vector<MPI_Datatype> types_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace weft::test
