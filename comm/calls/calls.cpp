// Calls: from a problem to the programs that solve it, kept for the next time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "comm/setup/describe.hpp"
#include "comm/setup/peers.hpp"
#include "comm/setup/together.hpp"
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

/// What part of a need may be had at once.
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

std::size_t Communicator::Impl::ProblemHash::operator()(const Problem& problem) const noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(problem.collective);
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(problem.block_bytes);
  mix(problem.stride);
  mix(static_cast<std::uint64_t>(problem.root));
  mix(problem.element_bytes * 8 + problem.commutative * 4 + problem.associative * 2 +
      problem.in_place);
  for (const plan::Block& block : problem.layout) {
    mix(block.offset);
    mix(block.bytes);
  }
  return hash;
}

const std::shared_ptr<Communicator::Impl::Call>& Communicator::Impl::call_for(
    const comm::Task& task) {
  if (task.irregular) return irregular_call_for(task.problem);
  if (task.problem.collective == Collective::alltoallv) return vector_call_for(task);
  if (!calls_.empty() && calls_.front()->problem == task.problem) return calls_.front();
  const auto found = call_of_.find(task.problem);
  if (found == call_of_.end()) return prepare(task.problem);
  calls_.splice(calls_.begin(), calls_, found->second);
  return calls_.front();
}

/// Plans `problem`, which all ranks must describe alike; how much the neediest of them needs.
/// Collective.
Communicator::Impl::Need Communicator::Impl::agree(const tune::Algorithm& algorithm,
                                                   const Problem& problem, plan::Plan& plan) {
  const auto all = together([&] {
    plan = algorithm.plan(problem, machine_, rank_);
    const bool connects = !links_->missing(comm::peers_of(plan)).empty();
    return fmt::format("{} {} {:d} {:d} {}", plan.stage_bytes(), plan.scratch_bytes(), connects,
                       reads_peers(plan), comm::describe(problem));
  });
  Need most;
  std::vector<std::string_view> described;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    char* end = nullptr;
    most.stage_bytes = std::max(most.stage_bytes, to_number(all[rank].c_str(), end));
    most.scratch_bytes = std::max(most.scratch_bytes, to_number(end, end));
    most.connects |= to_number(end, end) != 0;
    most.reads_peers |= to_number(end, end) != 0;
    described.emplace_back(end + 1);
  }
  require_alike(described);
  return most;
}

/// The size of slices in which every rank's part fits into its memory, and the plan of one. Every
/// rank cuts alike: as the neediest must. Collective.
Communicator::Impl::Cut Communicator::Impl::cut(const tune::Algorithm& algorithm,
                                                const Problem& problem) {
  const std::uint64_t least = grain(problem);
  const bool whole = !problem.layout.empty() || problem.block_bytes <= least;
  const std::uint64_t stage_limit = settings_.stage_bytes / 2;
  Cut cut;
  std::uint64_t most = kMostAtOnce;
  if (is_reduction(problem.collective)) {
    most = machine_.nodes() > 1 ? kMostReduced : kMostReducedInside;
  }
  cut.slice_bytes = problem.block_bytes;
  if (!whole) cut.slice_bytes = std::min(cut.slice_bytes, std::max(least, most / least * least));
  while (true) {
    cut.need = agree(algorithm, slice_of(problem, cut.slice_bytes), cut.plan);
    const double part = std::min(share(stage_limit, cut.need.stage_bytes),
                                 share(kMostScratch, cut.need.scratch_bytes));
    if (part == 1 || whole || cut.slice_bytes <= least) return cut;
    // Needs grow about in proportion to the blocks.
    const double fewer = static_cast<double>(cut.slice_bytes) * std::min(part, kLargestCut);
    cut.slice_bytes = std::max(least, static_cast<std::uint64_t>(fewer) / least * least);
  }
}

const std::shared_ptr<Communicator::Impl::Call>& Communicator::Impl::prepare(
    const Problem& problem) {
  if (!broken_.empty()) throw PeerError(broken_);
  auto made = std::make_shared<Call>();
  Call& call = *made;
  call.problem = problem;
  call.input_bytes = problem.in_place ? problem.output_bytes(rank_) : problem.input_bytes(rank_);
  const tune::Algorithm algorithm = agree_on_algorithm(problem);
  Cut cut = this->cut(algorithm, problem);
  call.slice_bytes = cut.slice_bytes;
  call.reads_peers = cut.need.reads_peers;
  if (cut.need.stage_bytes != 0) {
    make_stages(std::max(settings_.stage_bytes / 2, cut.need.stage_bytes));
  }
  std::vector<plan::Plan> plans;
  plans.push_back(std::move(cut.plan));
  const bool sliced = cut.slice_bytes < problem.block_bytes;
  if (sliced && problem.block_bytes % cut.slice_bytes != 0) {
    const Problem rest = slice_of(problem, problem.block_bytes % cut.slice_bytes);
    plans.push_back(algorithm.plan(rest, machine_, rank_));
  }
  if (cut.need.connects || sliced) {
    std::vector<int> peers = comm::peers_of(plans.front());
    for (const int peer : comm::peers_of(plans.back())) peers.push_back(peer);
    std::ranges::sort(peers);
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    connect(peers);
  }
  call.is_plain = !sliced && !(only_heaps_ && call.reads_peers);
  call.slice = made_ready(plans.front(), letters_of(algorithm, problem));
  if (plans.size() > 1) call.rest = made_ready(plans.back());
  call.entry = entry_for(problem.collective, algorithm.name);
  if (calls_.size() == kMostCalls) {
    call_of_.erase(calls_.back()->problem);
    calls_.pop_back();
  }
  calls_.push_front(std::move(made));
  call_of_[problem] = calls_.begin();
  return calls_.front();
}

/// What of a small problem's bytes goes along with signals inside the node. From the plans of all
/// its ranks, so that they find the same.
std::vector<engine::LetterOp> Communicator::Impl::letters_of(const tune::Algorithm& algorithm,
                                                             const Problem& problem) {
  const bool none = problem.block_bytes == 0 || problem.block_bytes > engine::kLetterBytes;
  if (node_ == nullptr || none || problem.in_place) return {};
  std::vector<plan::Plan> plans;
  for (const int neighbour : machine_.ranks_on(machine_.node_of(rank_))) {
    plans.push_back(algorithm.plan(problem, machine_, neighbour));
  }
  return engine::find_letters(plans, place_of_rank_[rank_]);
}

/// A program of this rank alone. What goes wrong here the others learn from the executor.
engine::Prepared Communicator::Impl::made_ready(const plan::Plan& plan,
                                                std::span<const engine::LetterOp> letters,
                                                std::span<const int> place_of_rank) {
  if (place_of_rank.empty()) place_of_rank = place_of_rank_;
  try {
    return executor_->prepare(
        engine::Program(plan, place_of_rank, machine_.ranks_on_node_of(rank_), letters));
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

std::size_t Communicator::Impl::entry_for(Collective collective, const std::string& algorithm) {
  auto& entries = statistics_.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].collective == to_string(collective) && entries[i].algorithm == algorithm) {
      return i;
    }
  }
  Statistics::Entry entry;
  entry.collective = to_string(collective);
  entry.algorithm = algorithm;
  entries.push_back(std::move(entry));
  ticks_.push_back(0);
  return entries.size() - 1;
}

const std::shared_ptr<Communicator::Impl::Call>& Communicator::Impl::irregular_call_for(
    const Problem& problem) {
  // The root talks with each straight: nothing else can be planned by ranks that know their own
  // blocks only. Connections are made for all of them at once, before the first.
  const auto [found, is_new] = irregular_.try_emplace({problem.collective, problem.root});
  Irregular& known = found->second;
  if (!broken_.empty()) throw PeerError(broken_);
  if (is_new) {
    std::vector<int> peers;
    for (int rank = 0; rank < size(); ++rank) {
      if (rank != rank_ && (rank_ == problem.root || rank == problem.root)) peers.push_back(rank);
    }
    connect(peers);
    known.entry = entry_for(problem.collective, "sequential");
    const auto asked = settings_.algorithms.find(problem.collective);
    if (asked != settings_.algorithms.end() && asked->second != "sequential") {
      note_not_taken(problem.collective, asked->second,
                     fmt::format("{} of blocks of different sizes", to_string(problem.collective)),
                     "only the root knows all sizes, so it sends to each rank in turn");
    }
  }
  if (known.call == nullptr || known.call->problem != problem) {
    known.call = std::make_shared<Call>();
    known.call->problem = problem;
    known.call->entry = known.entry;
    known.call->input_bytes = problem.input_bytes(rank_);
    known.call->slice = made_ready(
        tune::parse_algorithm(problem.collective, "sequential").plan(problem, machine_, rank_));
  }
  return known.call;
}

}  // namespace weft
