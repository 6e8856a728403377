#include "comm/calls/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "comm/setup/inline_plans.hpp"

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

bool reads_peers(const plan::Plan& plan) {
  const auto is_peers = [&plan](const plan::Slice& slice) {
    const bool buffer = slice.space == plan::Space::input || slice.space == plan::Space::output;
    return buffer && !slice.empty() && slice.owner != plan.rank();
  };
  return std::ranges::any_of(
      plan.ops(), [&](const plan::Op& op) { return is_peers(op.src) || is_peers(op.dst); });
}

}  // namespace

/// Plans `part`, and returns the needs of the neediest rank; `problem` is the call. Collective.
Preparation::Need Preparation::plan_alike(const Algorithm& algorithm, const Problem& part,
                                          const Problem& problem, plan::Plan& plan) {
  const auto all = resources_.members().agree([&] {
    plan = algorithm.plan(part, resources_.machine(), resources_.rank());
    return fmt::format("{} {} {:d} {:d} {:d} {}", plan.stage_bytes(), plan.scratch_bytes(),
                       resources_.lacks_channel(plan), resources_.lacks_scratch(plan),
                       reads_peers(plan), describe(problem));
  });
  Need most;
  std::vector<std::string_view> described;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    char* end = nullptr;
    most.stage_bytes = std::max(most.stage_bytes, to_number(all[rank].c_str(), end));
    most.scratch_bytes = std::max(most.scratch_bytes, to_number(end, end));
    most.connects |= to_number(end, end) != 0;
    most.grows_scratch |= to_number(end, end) != 0;
    most.reads_peers |= to_number(end, end) != 0;
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
    cut.need = plan_alike(algorithm, slice_of(largest, cut.slice_bytes), problem, cut.plan);
    const double part = std::min(share(stage_limit(), cut.need.stage_bytes),
                                 share(kMostScratch, cut.need.scratch_bytes));
    if (part == 1 || whole || cut.slice_bytes <= least) return cut;
    // Needs grow about in proportion to the blocks.
    const double fewer = static_cast<double>(cut.slice_bytes) * std::min(part, kLargestCut);
    cut.slice_bytes = std::max(least, static_cast<std::uint64_t>(fewer) / least * least);
  }
}

/// A class of the sizes up to that of `largest`, with all that it needs; of `problem` alone where
/// the largest would have to be cut. Collective.
SharedClass Preparation::agree(const Algorithm& algorithm, Problem largest,
                               const Problem& problem) {
  Cut cut = this->cut(algorithm, largest, problem);
  bool sliced = cut.slice_bytes < largest.block_bytes;
  if (sliced && largest != problem) {
    largest = problem;
    cut = this->cut(algorithm, largest, problem);
    sliced = cut.slice_bytes < largest.block_bytes;
  }
  if (cut.need.stage_bytes != 0) {
    // What the last slice of a call needs has not been agreed upon; it fits into the largest
    // stages.
    resources_.make_stages(std::max(sliced ? stage_limit() : 0, cut.need.stage_bytes));
  }
  const std::uint64_t scratch_bytes = cut.plan.scratch_bytes();
  std::vector<plan::Plan> plans;
  plans.push_back(std::move(cut.plan));
  const bool is_first = !gate_.is_made();
  if (is_first) plans.push_back(gate_.plan());
  // Inside a node it is signals alone.
  const bool gate_connects = is_first && resources_.machine().nodes() > 1;
  if (cut.need.connects || gate_connects) resources_.connect(plans);
  if (cut.need.grows_scratch) resources_.make_scratch(scratch_bytes);
  if (is_first) gate_.make();
  return std::make_shared<SizeClass>(
      SizeClass{algorithm, largest.block_bytes, cut.slice_bytes, cut.need.reads_peers,
                usage_.entry_for(problem.collective, algorithm.name())});
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
  const bool is_sized = problem.layout.empty();
  if (is_sized) {
    const auto bucket = buckets_.find(bucket_of(problem));
    const std::size_t part = part_of(problem);
    if (bucket != buckets_.end() && bucket->second[part] != nullptr) return bucket->second[part];
  }
  auto algorithm = choice_.choose_alone(problem);
  if (is_sized && algorithm) {
    if (auto found = find_other_part(problem, *algorithm)) return found;
  }
  if (gate_.is_made()) gate_.pass(problem, false);
  if (!algorithm) {
    algorithm = choice_.agree(problem);
    if (auto found = is_sized ? find_other_part(problem, *algorithm) : nullptr) return found;
  }
  if (!is_sized) return agree(*algorithm, problem, problem);
  const Problem largest = largest_of_bucket(problem);
  const bool serves =
      serves_smaller(*algorithm) && !algorithm->refusal(largest, resources_.machine());
  SharedClass made = agree(*algorithm, serves ? largest : problem, problem);
  if (!serves || made->most_bytes != largest.block_bytes) return made;
  if (buckets_.size() >= kMostBuckets) {
    buckets_.clear();
    ++generation_;
  }
  return buckets_[bucket_of(problem)][part_of(problem)] = std::move(made);
}

/// A class of another part of the bucket, by the same algorithm: it serves this part from now on.
SharedClass Preparation::find_other_part(const Problem& problem, const Algorithm& algorithm) {
  const auto bucket = buckets_.find(bucket_of(problem));
  if (bucket == buckets_.end()) return nullptr;
  for (const SharedClass& other : bucket->second) {
    if (other == nullptr || other->algorithm != algorithm) continue;
    return bucket->second[part_of(problem)] = other;
  }
  return nullptr;
}

SharedCall Preparation::prepare(const Problem& problem) {
  resources_.members().require_no_poison();
  const SharedClass of = class_for(problem);
  try {
    SharedCall call = prepare_alone(problem, *of);
    const auto bucket = problem.layout.empty() ? buckets_.find(bucket_of(problem)) : buckets_.end();
    call->is_of_class = bucket != buckets_.end() && bucket->second[part_of(problem)] == of;
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
  call->problem = problem;
  call->key = call_key(problem);
  call->input_bytes = problem.in_place ? problem.output_bytes(rank) : problem.input_bytes(rank);
  call->entry = of.entry;
  call->reads_peers = of.reads_peers;
  call->slice_bytes = std::min(of.slice_bytes, problem.block_bytes);
  const bool sliced = call->slice_bytes < problem.block_bytes;
  call->is_plain = !sliced && !(resources_.sees_only_heaps() && call->reads_peers);
  const Problem slice = slice_of(problem, call->slice_bytes);
  const plan::Plan plan = of.algorithm.plan(slice, resources_.machine(), rank);
  call->slice = resources_.prepare(
      plan, inline_messages_of(of.algorithm, problem, resources_.machine(), plan));
  call->slice->call = {problem.collective, problem.root, problem.block_bytes};
  if (sliced && problem.block_bytes % call->slice_bytes != 0) {
    const Problem rest = slice_of(problem, problem.block_bytes % call->slice_bytes);
    call->rest = resources_.prepare(of.algorithm.plan(rest, resources_.machine(), rank));
    call->rest->call = call->slice->call;
  }
  return call;
}

}  // namespace weft::comm
