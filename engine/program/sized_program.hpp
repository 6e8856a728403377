// Sized program: the program of a rank for the sizes of a family, whose numbers are written anew
// for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.hpp"
#include "plan/family.hpp"

namespace weft::engine {

/// Immutable. A family has several where sizes decide what goes along with signals, and which
/// reductions are folds: each is for the sizes that it fits. Those decisions are made about the
/// shapes of all ranks of the node, so they are the same on all of them.
class SizedProgram {
 public:
  /// For the rank at `place` and sizes like `extent`. `families[p]` is that of the rank at place p,
  /// null where it is not needed (find_inline_messages()). `carries`: signals may carry bytes, as
  /// long as a block of `units` units is at most kInlineBytes.
  SizedProgram(std::span<const plan::Family* const> families, int place,
               std::span<const int> place_of_rank, int units, bool carries,
               const plan::Extent& extent);

  bool fits(const plan::Extent& extent) const noexcept;
  Program program(const plan::Extent& extent) const;
  /// Makes a program of this the one for another extent, which must fit. Allocates nothing; nobody
  /// may be running it.
  void resize(Program& program, const plan::Extent& extent) const noexcept;

 private:
  /// A number of bytes that must be on the same side of a limit as when this was made.
  struct Condition {
    plan::Form block;
    std::uint64_t count = 1;
    std::uint64_t most = 0;
    bool is_within = true;

    bool holds_at(const plan::Extent& extent) const noexcept {
      return (block.at(extent) * count <= most) == is_within;
    }
    bool operator==(const Condition&) const = default;
  };
  struct OperandForm {
    std::uint32_t step;
    bool is_source;
    bool is_inline;  // in an inline message, which ends where its line ends
    plan::Form offset, block, stride;
  };

  bool decide(const Condition& asked, const plan::Extent& extent);
  void find_forms(const Program& second);
  void note_operand(std::uint32_t step, bool is_source, const Program& second);

  Program first_;  // with numbers of the first sample size
  std::vector<Condition> conditions_;
  std::vector<OperandForm> operands_;
  std::vector<std::uint32_t> small_;  // steps that are small where they are of few bytes
  plan::Form input_bytes_, output_bytes_, stage_bytes_, scratch_bytes_;
};

}  // namespace weft::engine
