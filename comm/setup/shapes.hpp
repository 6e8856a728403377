// Shapes: what the programs of a rank have in common for all sizes of a class, found once by a
// process for all communicators that are alike.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/program/sized_program.hpp"
#include "hierarchy/machine.hpp"
#include "plan/family.hpp"
#include "plan/problem.hpp"
#include "tune/facts.hpp"

namespace weft::comm {

using SharedProgram = std::shared_ptr<const engine::SizedProgram>;

/// Of one rank, for an algorithm and the sizes up to that of a problem. Thread safe.
class Shape {
 public:
  Shape(const tune::Algorithm& algorithm, const plan::Problem& largest,
        std::shared_ptr<const hierarchy::Machine> machine, int rank);

  bool is_of(const tune::Algorithm& algorithm, const plan::Problem& largest,
             const hierarchy::Machine& machine, int rank) const;
  const std::shared_ptr<const hierarchy::Machine>& machine() const noexcept { return machine_; }
  /// Units of a block in family().
  int finest_units() const noexcept { return finest_units_; }
  /// Of this rank, in the finest units. nullopt: its plans are not of one shape.
  const std::optional<plan::Family>& family() const noexcept { return family_; }
  /// The program for sizes like `extent`, in units that are `times` as large, which all ranks have
  /// in common. Every rank has a family.
  SharedProgram program_for(const plan::Extent& extent, std::uint64_t times);

 private:
  SharedProgram make_program(const plan::Extent& extent, std::uint64_t times) const;

  const tune::Algorithm algorithm_;
  const plan::Problem largest_;
  const std::shared_ptr<const hierarchy::Machine> machine_;
  const int rank_;
  const int finest_units_;
  const std::optional<plan::Family> family_;
  std::mutex mutex_;  // of what follows
  std::vector<std::pair<std::uint64_t, SharedProgram>> programs_;
};

/// Of those that were used last, or made anew.
std::shared_ptr<Shape> shape_of(const tune::Algorithm& algorithm, const plan::Problem& largest,
                                const hierarchy::Machine& machine, int rank);

}  // namespace weft::comm
