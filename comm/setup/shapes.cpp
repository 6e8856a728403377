#include "comm/setup/shapes.hpp"

#include <algorithm>
#include <list>

#include "base/error.hpp"
#include "comm/setup/placement.hpp"
#include "registry/families.hpp"

namespace weft::comm {

using plan::Extent;
using plan::Family;

namespace {

constexpr std::size_t kMostKept = 16;

/// The one used last comes first.
struct Kept {
  std::mutex mutex;
  std::list<std::shared_ptr<Shape>> shapes;
};

Kept& kept() {
  static auto& all = *new Kept;  // programs end in any order
  return all;
}

/// The family, or none where samples of the largest size cannot be planned.
std::optional<Family> find_family(const tune::Algorithm& algorithm, const plan::Problem& largest,
                                  const hierarchy::Machine& machine, int rank) {
  try {
    return registry::family_of(algorithm, largest, machine, rank);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

Shape::Shape(const tune::Algorithm& algorithm, const plan::Problem& largest,
             std::shared_ptr<const hierarchy::Machine> machine, int rank)
    : algorithm_(algorithm),
      largest_(largest),
      machine_(std::move(machine)),
      rank_(rank),
      finest_units_(registry::finest_units(algorithm, largest, *machine_)),
      family_(find_family(algorithm, largest, *machine_, rank)) {}

bool Shape::is_of(const tune::Algorithm& algorithm, const plan::Problem& largest,
                  const hierarchy::Machine& machine, int rank) const {
  return rank_ == rank && algorithm_ == algorithm && largest_ == largest && *machine_ == machine;
}

SharedProgram Shape::program_for(const Extent& extent, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  for (const auto& [units, program] : programs_) {
    if (units == times && program->fits(extent)) return program;
  }
  return programs_.emplace_back(times, make_program(extent, times)).second;
}

SharedProgram Shape::make_program(const Extent& extent, std::uint64_t times) const {
  const int units = finest_units_ / static_cast<int>(times);
  const auto local = machine_->ranks_on(machine_->node_of(rank_));
  const bool carries =
      local.size() > 1 &&
      static_cast<std::uint64_t>(units) * extent.unit - extent.tail <= engine::kInlineBytes;
  // Those with which this rank exchanges signals decide with it what these carry.
  std::vector<bool> is_wanted(static_cast<std::size_t>(machine_->ranks()));
  is_wanted[static_cast<std::size_t>(rank_)] = true;
  for (const plan::Op& op : family_->shape().ops()) {
    const bool is_signal = op.kind == plan::OpKind::signal || op.kind == plan::OpKind::wait;
    if (carries && is_signal) is_wanted[static_cast<std::size_t>(op.peer)] = true;
  }
  std::vector<std::optional<Family>> families;
  std::vector<const Family*> pointers;
  families.reserve(local.size());
  for (const int rank : local) {
    auto& family = families.emplace_back();
    pointers.push_back(nullptr);
    if (!is_wanted[static_cast<std::size_t>(rank)]) continue;
    family = rank == rank_ ? family_ : registry::family_of(algorithm_, largest_, *machine_, rank);
    family = family.value().in_larger_units(times);
    pointers.back() = &*family;
  }
  return std::make_shared<engine::SizedProgram>(pointers, machine_->place_of(rank_),
                                                places_on_node_of(*machine_, rank_), units,
                                                local.size() > 1, extent);
}

std::shared_ptr<Shape> shape_of(const tune::Algorithm& algorithm, const plan::Problem& largest,
                                const hierarchy::Machine& machine, int rank) {
  const auto find = [&]() -> std::shared_ptr<Shape> {
    auto& shapes = kept().shapes;
    const auto known = std::ranges::find_if(
        shapes, [&](const auto& one) { return one->is_of(algorithm, largest, machine, rank); });
    if (known == shapes.end()) return nullptr;
    shapes.splice(shapes.begin(), shapes, known);
    return *known;
  };
  std::shared_ptr<const hierarchy::Machine> same_machine;
  {
    const std::lock_guard lock(kept().mutex);
    if (auto known = find()) return known;
    for (const auto& one : kept().shapes) {
      if (*one->machine() == machine) same_machine = one->machine();
    }
  }
  if (same_machine == nullptr) same_machine = std::make_shared<hierarchy::Machine>(machine);
  auto made = std::make_shared<Shape>(algorithm, largest, std::move(same_machine), rank);
  const std::lock_guard lock(kept().mutex);
  if (auto known = find()) return known;
  kept().shapes.push_front(made);
  if (kept().shapes.size() > kMostKept) kept().shapes.pop_back();
  return made;
}

}  // namespace weft::comm
