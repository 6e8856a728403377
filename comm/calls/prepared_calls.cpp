// The calls of a preparation: programs of one size or list each, made from those of its class.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "comm/calls/preparation.hpp"
#include "comm/calls/slices.hpp"
#include "comm/setup/inline_plans.hpp"

namespace weft::comm {

using plan::Problem;

namespace {

// Of all sized calls: about 130 bytes each, so 8.5 MiB.
constexpr std::size_t kMostSteps = 1 << 16;
// Mixed into the keys of calls by stages, which end where another rank reads buffers.
constexpr std::uint32_t kByStages = 0x57a6e5;

}  // namespace

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

SharedCall Preparation::prepare(const Problem& problem, unsigned by_kernel) {
  resources_.members().require_no_poison();
  const SharedClass of = class_for({problem, by_kernel, is_in_pieces()});
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
