#include "comm/calls/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "comm/setup/inline_plans.hpp"
#include "registry/families.hpp"

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
// Of a stage's half, in calls that go by stages though buffers could be read: what one rank copies
// there the others find in a cache. 1 MiB between 2 ranks: 0.66 of Open MPI, in one piece 0.78.
constexpr std::uint64_t kMostByStages = 256 << 10;
// Mixed into the keys of calls by stages, which end where another rank reads buffers.
constexpr std::uint32_t kByStages = 0x57a6e5;
// Slices that need too much are made smaller by this at least.
constexpr double kLargestCut = 0.9;

/// Blocks may be cut at multiples of this.
std::uint64_t grain(const Problem& problem) {
  return std::lcm(plan::kSliceAlignment, std::max<std::uint64_t>(problem.element_bytes, 1));
}

Problem slice_of(const Problem& problem, std::uint64_t bytes) {
  Problem slice = problem;
  slice.block_bytes = bytes;
  return slice;
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
// Of all sized calls: about 130 bytes each, so 8.5 MiB.
constexpr std::size_t kMostSteps = 1 << 16;

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

bool reads_peers(const plan::Plan& plan) {
  const auto is_peers = [&plan](const plan::Slice& slice) {
    const bool buffer = slice.space == plan::Space::input || slice.space == plan::Space::output;
    return buffer && !slice.empty() && slice.owner != plan.rank();
  };
  return std::ranges::any_of(
      plan.ops(), [&](const plan::Op& op) { return is_peers(op.src) || is_peers(op.dst); });
}

/// What serves both.
template <class Need>
Need joined(const Need& a, const Need& b) {
  return {std::max(a.stage_bytes, b.stage_bytes),
          std::max(a.scratch_bytes, b.scratch_bytes),
          a.connects || b.connects,
          a.lacks_memory || b.lacks_memory,
          a.reads_peers || b.reads_peers,
          std::gcd(a.units, b.units),
          a.has_shape && b.has_shape,
          a.has_lists && b.has_lists};
}

}  // namespace

std::uint64_t Preparation::stage_limit() const noexcept {
  const std::uint64_t most = resources_.settings().stage_bytes / 2;
  return choice_.is_by_stages() ? std::min(most, kMostByStages) : most;
}

/// Of one rank.
Preparation::Need Preparation::need_of(const plan::Plan& plan) const {
  return {plan.stage_bytes(), plan.scratch_bytes(), resources_.lacks_channel(plan),
          resources_.lacks_memory(plan), reads_peers(plan)};
}

/// Plans `part`, and returns the needs of the neediest rank; `problem` is the call. Where the part
/// is all of its problem, of its shape too. Collective.
Preparation::Need Preparation::plan_alike(const Algorithm& algorithm, const Problem& part,
                                          const Problem& problem, Cut& cut) {
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
    return fmt::format("{} {} {:d} {:d} {:d} {:d} {:d} {} {}", need.stage_bytes, need.scratch_bytes,
                       need.connects, need.lacks_memory, need.reads_peers, need.has_lists,
                       need.has_shape, need.units, comm::describe(problem));
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
    need.reads_peers = to_number(end, end) != 0;
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
                                  const Problem& problem) {
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
    cut.need = plan_alike(algorithm, slice_of(largest, cut.slice_bytes), problem, cut);
    const double part = std::min(share(stage_limit(), cut.need.stage_bytes),
                                 share(kMostScratch, cut.need.scratch_bytes));
    if (part == 1 || whole || cut.slice_bytes <= least) return cut;
    // Needs grow about in proportion to the blocks.
    const double fewer = static_cast<double>(cut.slice_bytes) * std::min(part, kLargestCut);
    cut.slice_bytes = std::max(least, static_cast<std::uint64_t>(fewer) / least * least);
  }
}

/// A class of the sizes up to that of `largest`, with all that it needs. Collective.
SharedClass Preparation::agree(const Algorithm& algorithm, const Problem& largest,
                               const Problem& problem) {
  Cut cut = this->cut(algorithm, largest, problem);
  const bool sliced = cut.slice_bytes < largest.block_bytes;
  const bool has_shape = cut.need.has_shape && cut.need.units != 0 && !sliced;
  const bool has_lists = cut.need.has_lists && !sliced;
  if (cut.need.stage_bytes != 0) {
    // What the last slice of a call needs has not been agreed upon; it fits into the largest
    // stages.
    resources_.make_stages(std::max(sliced ? stage_limit() : 0, cut.need.stage_bytes));
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
  auto made = std::make_shared<SizeClass>(SizeClass{
      algorithm, algorithm.name(), largest.block_bytes, cut.slice_bytes, cut.need.reads_peers});
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
SharedClass Preparation::class_for(const Problem& problem) {
  const auto bucket = buckets_.find(bucket_of(problem));
  const SharedClass known = bucket == buckets_.end() ? nullptr : bucket->second[part_of(problem)];
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
    SharedClass made = agree(*algorithm, largest, problem);
    const bool takes = made->takes(problem);
    keep(problem, made);
    if (takes) return made;
  }
  return agree(*algorithm, problem, problem);
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

const SharedCall* Preparation::find(const Problem& problem) {
  const BlockSizes sizes = block_sizes(problem);
  const Bucket bucket = bucket_of(problem, sizes);
  if (last_ == nullptr || last_->first != bucket) {
    const auto found = buckets_.find(bucket);
    if (found == buckets_.end()) return nullptr;
    last_ = &*found;
  }
  const SharedClass& of = last_->second[part_of(problem)];
  if (of == nullptr) return nullptr;
  return problem.layout.empty() ? resized(problem, *of) : relisted(problem, sizes.mean, *of);
}

/// The call of the class with the problem's list; null where it has none for it.
const SharedCall* Preparation::relisted(const Problem& problem, std::uint64_t mean_bytes,
                                        SizeClass& of) {
  if (!of.has_list(problem)) return nullptr;
  SharedCall& call = of.list_call;
  const std::uint32_t key = key_of(problem);
  if (call != nullptr && call->key == key && call->problem == problem) return &call;
  ++changes_;
  if (mean_bytes > of.entry_bytes || mean_bytes <= of.entry_bytes / 2) {
    of.entry = usage_.entry_for(problem.collective, of.name, mean_bytes);
    of.entry_bytes = std::bit_ceil(mean_bytes);
  }
  if (call == nullptr) {
    add_listed(problem, of);
    return &call;
  }
  if (call.use_count() > 1) call = std::make_shared<Call>(*call);
  call->is_kept = false;
  const bool same_steps = of.lists->renumber(call->slice->program, problem);
  resources_.executor().renumbered(*call->slice, same_steps);
  // The rest is that of the bucket.
  call->problem.layout = problem.layout;
  call->entry = of.entry;
  call->key = key;
  call->input_bytes = call->slice->program.input_bytes();
  return &call;
}

void Preparation::add_listed(const Problem& problem, SizeClass& of) {
  resources_.guarded([&] {
    if (sized_steps_ > kMostSteps) forget_sized();
    auto call = std::make_shared<Call>();
    call->slice = resources_.prepare(of.lists->program(problem));
    describe(problem, *call, of);
    call->is_of_class = true;
    sized_steps_ += call->slice->program.steps().size();
    of.list_call = std::move(call);
  });
}

/// The call of the class with the numbers of the problem; null where it has none for the size.
const SharedCall* Preparation::resized(const Problem& problem, SizeClass& of) {
  const auto extent = of.extent_of(problem);
  if (!extent) return nullptr;
  for (SizedCall& one : of.calls) {
    if (one.call->problem == problem) return &one.call;
    if (!one.program->fits(*extent)) continue;
    ++changes_;
    if (one.call.use_count() > 1) one.call = std::make_shared<Call>(*one.call);
    one.call->is_kept = false;
    one.program->resize(one.call->slice->program, *extent);
    resources_.executor().renumbered(*one.call->slice);
    describe(problem, *one.call, of);
    return &one.call;
  }
  return &add_sized(problem, *extent, of);
}

const SharedCall& Preparation::add_sized(const Problem& problem, const plan::Extent& extent,
                                         SizeClass& of) {
  try {
    if (sized_steps_ > kMostSteps) forget_sized();
    const SharedProgram program = of.shape->program_for(extent, of.times);
    auto call = std::make_shared<Call>();
    call->slice = resources_.prepare(program->program(extent));
    describe(problem, *call, of);
    call->is_of_class = true;
    sized_steps_ += call->slice->program.steps().size();
    return of.calls.emplace_back(program, std::move(call)).call;
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    resources_.poison_all(error.what());
  }
}

/// Other ranks need not: these are made anew without them.
void Preparation::forget_sized() {
  ++changes_;
  for (auto& [bucket, classes] : buckets_) {
    for (const SharedClass& one : classes) {
      if (one == nullptr) continue;
      one->calls.clear();
      one->list_call = nullptr;
    }
  }
  sized_steps_ = 0;
}

std::uint32_t Preparation::key_of(const Problem& problem) const {
  return call_key(problem) ^ (choice_.is_by_stages() ? kByStages : 0);
}

/// Whose call it is, and how it runs.
void Preparation::describe(const Problem& problem, Call& call, const SizeClass& of) const {
  const int rank = resources_.rank();
  call.problem = problem;
  call.key = key_of(problem);
  call.input_bytes = problem.in_place ? problem.output_bytes(rank) : problem.input_bytes(rank);
  call.entry = of.entry;
  call.reads_peers = of.reads_peers;
  call.slice_bytes = std::min(of.slice_bytes, problem.block_bytes);
  const bool sliced = call.slice_bytes < problem.block_bytes;
  call.is_plain = !sliced && !(resources_.sees_only_heaps() && call.reads_peers);
  if (call.slice) {
    call.slice->call = {problem.collective, problem.root, problem.block_bytes, of.posted};
  }
}

SharedCall Preparation::prepare(const Problem& problem) {
  resources_.members().require_no_poison();
  const SharedClass of = class_for(problem);
  const auto bucket = buckets_.find(bucket_of(problem));
  const bool is_kept = bucket != buckets_.end() && bucket->second[part_of(problem)] == of;
  if (is_kept && (of->extent_of(problem) || of->has_list(problem))) return nullptr;
  try {
    SharedCall call = prepare_alone(problem, *of);
    call->is_of_class = is_kept;
    return call;
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    resources_.poison_all(error.what());
  }
}

SharedCall Preparation::prepare_alone(const Problem& problem, const SizeClass& of) {
  const int rank = resources_.rank();
  auto call = std::make_shared<Call>();
  describe(problem, *call, of);
  call->entry = usage_.entry_for(problem.collective, of.name, block_sizes(problem).mean);
  const Problem slice = slice_of(problem, call->slice_bytes);
  const plan::Plan plan = of.algorithm.plan(slice, resources_.machine(), rank);
  call->slice = resources_.prepare(
      plan, inline_messages_of(of.algorithm, problem, resources_.machine(), plan));
  call->slice->call = {problem.collective, problem.root, problem.block_bytes, of.posted};
  const std::uint64_t rest_bytes =
      call->slice_bytes == 0 ? 0 : problem.block_bytes % call->slice_bytes;
  if (rest_bytes != 0) {
    const Problem rest = slice_of(problem, rest_bytes);
    call->rest = resources_.prepare(of.algorithm.plan(rest, resources_.machine(), rank));
    call->rest->call = call->slice->call;
  }
  return call;
}

}  // namespace weft::comm
