// Layout program: the program of a rank for all lists of block sizes of a layout family, whose
// numbers are written anew for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.hpp"
#include "plan/layout_family.hpp"

namespace weft::engine {

/// Of one rank. No signal carries bytes. What is a fold does not depend on the list: each rank
/// folds for itself.
class LayoutProgram {
 public:
  /// `largest`: a problem with a list of the family, none of whose blocks is empty. Folds are those
  /// that it has.
  LayoutProgram(plan::LayoutFamily family, const plan::Problem& largest,
                std::span<const int> place_of_rank, int places);

  Program program(const plan::Problem& problem);
  /// Makes a program of this the one for another list, of blocks side by side. Allocates nothing;
  /// nobody may be running it. Returns whether it leaves out the same steps as before.
  bool renumber(Program& program, const plan::Problem& problem) noexcept;

 private:
  using Piece = plan::LayoutFamily::Piece;
  /// A step that touches memory.
  struct Move {
    std::uint32_t step;
    Piece dst, src;
    bool has_dst, has_src;
    bool is_deferred;    // whatever the list
    bool may_be_small;   // where it is of few bytes
    bool is_local_recv;  // of a message from a rank of this node
  };
  void write(Operand& operand, const Piece& piece) const noexcept;

  plan::LayoutFamily family_;
  Program first_;
  std::vector<Move> moves_;
  std::vector<std::uint64_t> at_;  // positions of the last list
};

}  // namespace weft::engine
