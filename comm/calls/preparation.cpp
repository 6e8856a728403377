#include "comm/calls/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "comm/calls/slices.hpp"
#include "registry/families.hpp"
#include "tune/candidates.hpp"

namespace weft::comm {

using plan::Problem;
using registry::Algorithm;

namespace {

// Buckets whose classes are kept. All ranks forget the same ones.
constexpr std::size_t kMostBuckets = 512;
// Of a block, at once: what follows from it stays far from the limits of plans and adapters.
constexpr std::uint64_t kMostAtOnce = 256 << 20;
// Of what is combined, on one node and on several, where each slice has the startups of all: the
// copy of an input in place is no longer.
constexpr std::uint64_t kMostReducedInside = 8 << 20;
constexpr std::uint64_t kMostReduced = 64 << 20;
constexpr std::uint64_t kMostScratch = 64 << 20;
// Of a stage's half, inside a node where each rank has a core: what one rank copies there the
// others find in a cache. Broadcasts of 1 MiB between 2 ranks: 0.62 of Open MPI's time, in one
// piece 1.09. Where ranks share cores they come one after the other all the same: an allreduce of 1
// MiB between 4 ranks on 2 cores 0.45, in one piece 0.34.
constexpr std::uint64_t kMostInPieces = 256 << 10;
// Slices that need too much are made smaller by this at least.
constexpr double kLargestCut = 0.9;

/// Blocks may be cut at multiples of this.
std::uint64_t grain(const Problem& problem) {
  return std::lcm(plan::kSliceAlignment, std::max<std::uint64_t>(problem.element_bytes, 1));
}

/// The part of `need` that fits into `limit`, at most 1.
double share(std::uint64_t limit, std::uint64_t need) {
  return need <= limit ? 1.0 : static_cast<double>(limit) / static_cast<double>(need);
}

std::uint64_t to_number(const char* text, char*& end) {
  return std::strtoull(text, &end, 10);
}

// Longer plans take much memory in a shape, and their calls take long.
constexpr std::size_t kMostShaped = 1024;

/// The member of a family for the largest size, in units that are as fine as can be: in larger ones
/// it needs no more.
plan::Plan largest_of(const Shape& shape, const Problem& largest) {
  const auto units = static_cast<std::uint64_t>(shape.finest_units());
  const std::uint64_t grain = largest.grain();
  return shape.family()->at({ceil_div(largest.block_bytes / grain, units) * grain, 0});
}

/// Of lists of blocks of up to the size of those of `largest`; none where samples of them cannot be
/// planned.
std::optional<plan::LayoutFamily> find_lists(const Algorithm& algorithm, const Problem& largest,
                                             const hierarchy::Machine& machine, int rank) {
  try {
    return registry::layout_family_of(algorithm, largest, machine, rank);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

/// Of neighbours' buffers, those that the rank reads or writes where they lie.
unsigned Preparation::reads_of(const plan::Plan& plan) {
  const auto buffer_of = [&plan](const plan::Slice& slice) -> unsigned {
    if (slice.empty() || slice.owner == plan.rank()) return kNoBuffer;
    if (slice.space == plan::Space::input) return kInput;
    return slice.space == plan::Space::output ? kOutput : kNoBuffer;
  };
  unsigned reads = kNoBuffer;
  for (const plan::Op& op : plan.ops()) reads |= buffer_of(op.src) | buffer_of(op.dst);
  return reads;
}

/// What serves both.
Preparation::Need Preparation::joined(const Need& a, const Need& b) {
  return {std::max(a.stage_bytes, b.stage_bytes),
          std::max(a.scratch_bytes, b.scratch_bytes),
          a.connects || b.connects,
          a.lacks_memory || b.lacks_memory,
          a.reads | b.reads,
          a.by_kernel | b.by_kernel,
          a.refuses_calls || b.refuses_calls,
          std::gcd(a.units, b.units),
          a.has_shape && b.has_shape,
          a.has_lists && b.has_lists};
}

unsigned Preparation::by_kernel(const Task& task) const {
  const engine::View view = resources_.view();
  const bool may_call = view == engine::View::shared_heap || view == engine::View::cma;
  const bool matters = resources_.machine().nodes() == 1 && may_call;
  if (!matters) return kNoBuffer;
  const auto lies_outside = [this](const std::byte* buffer, std::uint64_t bytes) {
    return buffer != nullptr && bytes != 0 && !resources_.is_reached_by_loads(buffer);
  };
  const int rank = resources_.rank();
  unsigned outside = kNoBuffer;
  if (lies_outside(task.input, task.problem.input_bytes(rank))) outside |= kInput;
  if (lies_outside(task.output, task.problem.output_bytes(rank))) outside |= kOutput;
  return outside;
}

/// Whether neighbours are to read buffers of this rank that they reach by system calls alone.
bool Preparation::may_be_read_by_calls(const Problem& problem) const {
  return resources_.settings().cma && tune::may_pay_by_calls(problem, resources_.machine());
}

std::uint64_t Preparation::stage_limit(const Asked& asked) const noexcept {
  const std::uint64_t most = resources_.settings().stage_bytes / 2;
  return asked.in_pieces ? std::min(most, kMostInPieces) : most;
}

/// Of calls that no heap could serve, or that are to go by stages, where no rank waits for a core
/// at each piece.
bool Preparation::is_in_pieces() const {
  if (resources_.is_any_crowded()) return false;
  const bool sees_no_heap =
      resources_.view() == engine::View::cma || resources_.view() == engine::View::staged;
  return choice_.is_by_stages() || (resources_.machine().nodes() == 1 && sees_no_heap);
}

/// Of one rank.
Preparation::Need Preparation::need_of(const plan::Plan& plan) const {
  return {plan.stage_bytes(), plan.scratch_bytes(), resources_.lacks_channel(plan),
          resources_.lacks_memory(plan), reads_of(plan)};
}

/// Plans `part` of a call, and returns the needs of the neediest rank. Where the part is all of its
/// problem, of its shape too. Collective.
Preparation::Need Preparation::plan_alike(const Algorithm& algorithm, const Problem& part,
                                          const Asked& asked, Cut& cut) {
  const Problem& problem = asked.problem;
  const auto all = resources_.members().agree([&] {
    cut.plan = algorithm.plan(part, resources_.machine(), resources_.rank());
    Need need = need_of(cut.plan);
    if (cut.shape == nullptr && problem.layout.empty() && part.stride == part.block_bytes &&
        cut.plan.ops().size() <= kMostShaped &&
        registry::finest_units(algorithm, part, resources_.machine()) != 0) {
      cut.shape = shape_of(algorithm, part, resources_.machine(), resources_.rank());
      if (cut.shape->family()) need = joined(need, need_of(largest_of(*cut.shape, part)));
    }
    need.has_shape = cut.shape != nullptr && cut.shape->family();
    if (need.has_shape) need.units = cut.shape->family()->common_units();
    if (!problem.layout.empty() && part.layout.empty() && cut.plan.ops().size() <= kMostShaped) {
      cut.lists = find_lists(algorithm, part, resources_.machine(), resources_.rank());
      if (cut.lists) need = joined(need, need_of(cut.lists->at(largest_list(part))));
    }
    need.has_lists = cut.lists.has_value();
    need.by_kernel = asked.by_kernel;
    need.refuses_calls = need.by_kernel != kNoBuffer && !may_be_read_by_calls(problem);
    return fmt::format("{} {} {:d} {:d} {} {} {:d} {:d} {:d} {} {}", need.stage_bytes,
                       need.scratch_bytes, need.connects, need.lacks_memory, need.reads,
                       need.by_kernel, need.refuses_calls, need.has_lists, need.has_shape,
                       need.units, comm::describe(problem));
  });
  Need most;
  most.has_shape = most.has_lists = true;
  std::vector<std::string_view> described;
  for (const std::string& text : all) {
    char* end = nullptr;
    Need need;
    need.stage_bytes = to_number(text.c_str(), end);
    need.scratch_bytes = to_number(end, end);
    need.connects = to_number(end, end) != 0;
    need.lacks_memory = to_number(end, end) != 0;
    need.reads = static_cast<unsigned>(to_number(end, end));
    need.by_kernel = static_cast<unsigned>(to_number(end, end));
    need.refuses_calls = to_number(end, end) != 0;
    need.has_lists = to_number(end, end) != 0;
    need.has_shape = to_number(end, end) != 0;
    need.units = to_number(end, end);
    most = joined(most, need);
    described.emplace_back(end + 1);
  }
  resources_.members().require_alike(described);
  return most;
}

/// The size of slices in which every rank's part of `largest` fits into its memory, and the plan of
/// one. Every rank cuts alike: as the neediest must. Collective.
Preparation::Cut Preparation::cut(const Algorithm& algorithm, const Problem& largest,
                                  const Asked& asked) {
  const std::uint64_t least = grain(largest);
  const bool whole = !largest.layout.empty() || largest.block_bytes <= least;
  Cut cut;
  std::uint64_t most = kMostAtOnce;
  if (is_reduction(largest.collective)) {
    most = resources_.machine().nodes() > 1 ? kMostReduced : kMostReducedInside;
  }
  cut.slice_bytes = largest.block_bytes;
  if (!whole) cut.slice_bytes = std::min(cut.slice_bytes, std::max(least, most / least * least));
  while (true) {
    cut.need = plan_alike(algorithm, slice_of(largest, cut.slice_bytes), asked, cut);
    const double part = std::min(share(stage_limit(asked), cut.need.stage_bytes),
                                 share(kMostScratch, cut.need.scratch_bytes));
    if (part == 1 || whole || cut.slice_bytes <= least) return cut;
    // Needs grow about in proportion to the blocks.
    const double fewer = static_cast<double>(cut.slice_bytes) * std::min(part, kLargestCut);
    cut.slice_bytes = std::max(least, static_cast<std::uint64_t>(fewer) / least * least);
  }
}

/// A class of the sizes up to that of `largest`, with all that it needs. Collective.
SharedClass Preparation::agree(const Algorithm& algorithm, const Problem& largest,
                               const Asked& asked) {
  const Problem& problem = asked.problem;
  Cut cut = this->cut(algorithm, largest, asked);
  if (cut.need.goes_by_stages()) {
    const Algorithm staged = choice_.choose_by_stages(problem);
    if (staged != algorithm) {
      if (auto found = find_other_part(problem, staged)) return found;
      const bool serves_largest = !staged.refusal(largest, resources_.machine());
      const Asked in_pieces = {problem, asked.by_kernel, !resources_.is_any_crowded()};
      return agree(staged, serves_largest ? largest : problem, in_pieces);
    }
  }
  const bool sliced = cut.slice_bytes < largest.block_bytes;
  const bool has_shape = cut.need.has_shape && cut.need.units != 0 && !sliced;
  const bool has_lists = cut.need.has_lists && !sliced;
  if (cut.need.stage_bytes != 0) {
    // What the last slice of a call needs has not been agreed upon; it fits into the largest
    // stages.
    resources_.make_stages(std::max(sliced ? stage_limit(asked) : 0, cut.need.stage_bytes));
  }
  std::vector<plan::Plan> plans;
  plans.push_back(std::move(cut.plan));
  if (has_shape) plans.push_back(largest_of(*cut.shape, largest));
  if (has_lists) plans.push_back(cut.lists->at(largest_list(largest)));
  const bool is_first = !gate_.is_made();
  if (is_first) plans.push_back(gate_.plan());
  // Inside a node it is signals alone.
  const bool gate_connects = is_first && resources_.machine().nodes() > 1;
  if (cut.need.connects || gate_connects) resources_.connect(plans);
  if (cut.need.lacks_memory) resources_.provide_memory(plans);
  if (is_first) gate_.make();
  auto made =
      std::make_shared<SizeClass>(SizeClass{algorithm, algorithm.name(), largest.block_bytes,
                                            cut.slice_bytes, cut.need.reads != kNoBuffer});
  const std::uint64_t mean_bytes = block_sizes(problem).mean;
  made->entry = usage_.entry_for(problem.collective, made->name, mean_bytes);
  made->entry_bytes = std::bit_ceil(mean_bytes);
  made->posted = resources_.executor().poster().algorithm(made->name);
  if (has_shape) {
    made->shape = std::move(cut.shape);
    made->times = cut.need.units;
  }
  if (has_lists) {
    made->lists =
        std::make_unique<engine::LayoutProgram>(std::move(*cut.lists), largest_list(largest),
                                                resources_.place_of_rank(), resources_.places());
  }
  return made;
}

void Preparation::meet(const Problem& problem) {
  resources_.members().require_no_poison();
  if (gate_.is_made()) return gate_.pass(problem, true);
  const auto all = resources_.members().agree([&] { return describe_irregular(problem); });
  const std::vector<std::string_view> described(all.begin(), all.end());
  resources_.members().require_alike(described);
  // Inside a node it is signals alone.
  if (resources_.machine().nodes() > 1) resources_.connect(std::span(&gate_.plan(), 1));
  gate_.make();
}

/// Collective where the class is new.
SharedClass Preparation::class_for(const Asked& asked) {
  const Problem& problem = asked.problem;
  const auto bucket = buckets_.find(bucket_of(problem));
  SharedClass known = bucket == buckets_.end() ? nullptr : bucket->second[part_of(problem)];
  if (known != nullptr && known->takes(problem)) return known;
  auto algorithm = choice_.choose_alone(problem);
  if (algorithm) {
    if (auto found = find_other_part(problem, *algorithm)) return found;
  }
  if (gate_.is_made()) gate_.pass(problem, false);
  if (!algorithm) {
    algorithm = choice_.agree(problem);
    if (auto found = find_other_part(problem, *algorithm)) return found;
  }
  const Problem largest = largest_of_bucket(problem);
  // A class that is there does not take the problem: nor would another one.
  if (known == nullptr && !algorithm->refusal(largest, resources_.machine())) {
    SharedClass made = agree(*algorithm, largest, asked);
    const bool takes = made->takes(problem);
    keep(problem, made);
    if (takes) return made;
  }
  return agree(*algorithm, problem, asked);
}

void Preparation::keep(const Problem& problem, SharedClass made) {
  ++changes_;
  if (buckets_.size() >= kMostBuckets) {
    buckets_.clear();
    last_ = nullptr;
    sized_steps_ = 0;
    ++generation_;
  }
  buckets_[bucket_of(problem)][part_of(problem)] = std::move(made);
}

/// A class of another part of the bucket, by the same algorithm: it serves this part from now on.
SharedClass Preparation::find_other_part(const Problem& problem, const Algorithm& algorithm) {
  const auto bucket = buckets_.find(bucket_of(problem));
  if (bucket == buckets_.end()) return nullptr;
  for (const SharedClass& other : bucket->second) {
    if (other == nullptr || other->algorithm != algorithm || !other->takes(problem)) continue;
    return bucket->second[part_of(problem)] = other;
  }
  return nullptr;
}

}  // namespace weft::comm
