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
  /// A side of a step.
  struct Side {
    std::uint32_t step;
    bool is_source;
    plan::LayoutFamily::Piece piece;
  };
  /// A step that touches memory.
  struct Move {
    std::uint32_t step;
    bool has_src;
    bool is_deferred;    // whatever the list
    bool is_local_recv;  // of a message from a rank of this node
  };
  bool leave_out(Program& program) noexcept;

  plan::LayoutFamily family_;
  Program first_;
  std::vector<Side> sides_;
  std::vector<Move> moves_;
  std::vector<std::uint32_t> small_;  // steps that are small where they are of few bytes
  std::vector<std::uint64_t> at_;     // positions of the last list
  bool had_empty_ = true;             // the last list may have had a block without bytes
};

}  // namespace weft::engine
