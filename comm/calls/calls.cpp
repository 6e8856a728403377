// Preparing calls: from a problem to the programs that solve it, which are kept for the next time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "comm/setup/inline_plans.hpp"
#include "plan/builder.hpp"

namespace weft {

using plan::Collective;
using plan::Problem;

namespace {

// Problems whose programs are kept. All ranks forget the same one when there are more.
constexpr std::size_t kMostCalls = 512;
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

const Communicator::Impl::SharedCall& Communicator::Impl::call_for(const comm::Task& task) {
  if (task.irregular) return rooted_call_for(task.problem);
  if (task.problem.collective == Collective::alltoallv) return vector_call_for(task);
  if (!calls_.empty() && calls_.front()->problem == task.problem) return calls_.front();
  const auto found = call_of_.find(task.problem);
  if (found == call_of_.end()) return prepare(task.problem);
  calls_.splice(calls_.begin(), calls_, found->second);
  return calls_.front();
}

/// Plans `problem`, which all ranks must describe alike. Returns the needs of the neediest of them.
/// Collective.
Communicator::Impl::Need Communicator::Impl::plan_alike(const tune::Algorithm& algorithm,
                                                        const Problem& problem, plan::Plan& plan) {
  const auto all = resources_.members().agree([&] {
    plan = algorithm.plan(problem, machine(), rank());
    return fmt::format("{} {} {:d} {:d} {:d} {}", plan.stage_bytes(), plan.scratch_bytes(),
                       resources_.lacks_channel(plan), resources_.lacks_scratch(plan),
                       reads_peers(plan), comm::describe(problem));
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

/// The size of slices in which every rank's part fits into its memory, and the plan of one. Every
/// rank cuts alike: as the neediest must. Collective.
Communicator::Impl::Cut Communicator::Impl::cut(const tune::Algorithm& algorithm,
                                                const Problem& problem) {
  const std::uint64_t least = grain(problem);
  const bool whole = !problem.layout.empty() || problem.block_bytes <= least;
  Cut cut;
  std::uint64_t most = kMostAtOnce;
  if (is_reduction(problem.collective)) {
    most = machine().nodes() > 1 ? kMostReduced : kMostReducedInside;
  }
  cut.slice_bytes = problem.block_bytes;
  if (!whole) cut.slice_bytes = std::min(cut.slice_bytes, std::max(least, most / least * least));
  while (true) {
    cut.need = plan_alike(algorithm, slice_of(problem, cut.slice_bytes), cut.plan);
    const double part = std::min(share(stage_limit(), cut.need.stage_bytes),
                                 share(kMostScratch, cut.need.scratch_bytes));
    if (part == 1 || whole || cut.slice_bytes <= least) return cut;
    // Needs grow about in proportion to the blocks.
    const double fewer = static_cast<double>(cut.slice_bytes) * std::min(part, kLargestCut);
    cut.slice_bytes = std::max(least, static_cast<std::uint64_t>(fewer) / least * least);
  }
}

const Communicator::Impl::SharedCall& Communicator::Impl::prepare(const Problem& problem) {
  resources_.members().require_no_poison();
  auto made = std::make_shared<Call>();
  Call& call = *made;
  call.problem = problem;
  call.input_bytes = problem.in_place ? problem.output_bytes(rank()) : problem.input_bytes(rank());
  const tune::Algorithm algorithm = choice_.agree(problem);
  Cut cut = this->cut(algorithm, problem);
  call.slice_bytes = cut.slice_bytes;
  call.reads_peers = cut.need.reads_peers;
  const bool sliced = cut.slice_bytes < problem.block_bytes;
  if (cut.need.stage_bytes != 0) {
    // What the last slice needs has not been agreed upon; it fits into the largest stages.
    resources_.make_stages(std::max(sliced ? stage_limit() : 0, cut.need.stage_bytes));
  }
  std::vector<plan::Plan> plans;
  plans.push_back(std::move(cut.plan));
  if (sliced && problem.block_bytes % cut.slice_bytes != 0) {
    const Problem rest = slice_of(problem, problem.block_bytes % cut.slice_bytes);
    plans.push_back(algorithm.plan(rest, machine(), rank()));
  }
  if (cut.need.connects || sliced) resources_.connect(plans);
  if (cut.need.grows_scratch) {
    resources_.make_scratch(
        std::ranges::max(plans, {}, &plan::Plan::scratch_bytes).scratch_bytes());
  }
  call.is_plain = !sliced && !(resources_.sees_only_heaps() && call.reads_peers);
  call.slice = resources_.prepare(
      plans.front(), comm::inline_messages_of(algorithm, problem, machine(), plans.front()));
  if (plans.size() > 1) call.rest = resources_.prepare(plans.back());
  call.entry = entry_for(problem.collective, algorithm.name());
  return keep(std::move(made));
}

const Communicator::Impl::SharedCall& Communicator::Impl::keep(SharedCall call) {
  if (calls_.size() == kMostCalls) {
    call_of_.erase(calls_.back()->problem);
    calls_.pop_back();
  }
  calls_.push_front(std::move(call));
  call_of_[calls_.front()->problem] = calls_.begin();
  return calls_.front();
}

std::size_t Communicator::Impl::entry_for(Collective collective, const std::string& algorithm) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].collective == to_string(collective) && entries_[i].algorithm == algorithm) {
      return i;
    }
  }
  Statistics::Entry entry;
  entry.collective = to_string(collective);
  entry.algorithm = algorithm;
  entries_.push_back(std::move(entry));
  ticks_.push_back(0);
  return entries_.size() - 1;
}

const Communicator::Impl::SharedCall& Communicator::Impl::rooted_call_for(const Problem& problem) {
  resources_.members().require_no_poison();
  const std::pair key{problem.collective, problem.root};
  auto found = rooted_.find(key);
  if (found == rooted_.end()) {
    const char* algorithm = comm::RootedExchange::kAlgorithm;
    choice_.note_other_than(
        algorithm, problem.collective,
        fmt::format("{} of blocks of different sizes", to_string(problem.collective)),
        "only the root knows all sizes, so it exchanges with each rank directly");
    const std::size_t entry = entry_for(problem.collective, algorithm);
    found = rooted_.try_emplace(key, resources_, problem.root, entry).first;
  }
  return found->second.call_for(problem);
}

const Communicator::Impl::SharedCall& Communicator::Impl::vector_call_for(const comm::Task& task) {
  resources_.members().require_no_poison();
  if (vector_ == nullptr) {
    choice_.note_passed_over(task.problem);
    const auto asked = choice_.algorithm_for(task.problem);
    vector_ = std::make_unique<comm::VectorExchange>(resources_, asked);
    vector_entry_ = entry_for(Collective::alltoallv, vector_->algorithm());
  }
  return vector_->call_for(task, vector_entry_);
}

}  // namespace weft
