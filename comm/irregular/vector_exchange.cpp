#include "comm/irregular/vector_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "base/error.hpp"

namespace weft::comm {

using plan::Block;
using plan::Collective;
using plan::Problem;
using registry::Algorithm;

namespace {

// Larger blocks go straight to their ranks where stages allow as much: beyond, another copy costs
// more than a message of its own.
constexpr std::uint64_t kMostAggregated = 8 << 10;
// On one node a larger block is a message of its own: a copy between the buffers themselves, by
// stores, or by a system call, which pays for longer blocks only. 4 ranks on 2 cores, blocks of 64
// and 256 KiB: by system calls 0.9 of Open MPI's time, in slots 0.33 and 0.4.
constexpr std::uint64_t kMostInSlots = 16 << 10;
constexpr std::uint64_t kLeastAggregated = 64;

Algorithm with_aggregate(const Algorithm& algorithm, std::uint64_t bytes) {
  if (algorithm.is_flat() ||
      algorithm.parameters().aggregate != registry::Parameters::kEverything) {
    return algorithm;
  }
  const std::string name = algorithm.name();
  return Algorithm::parse(
      Collective::alltoallv,
      fmt::format("{}{}aggregate={}", name, name.find(':') == name.npos ? ':' : ',', bytes));
}

std::uint64_t ns_since(std::chrono::steady_clock::time_point begin) {
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(took.count());
}

/// The same bytes in the same places.
bool is_alike(std::span<const Block> known, std::span<const Part> given) {
  static_assert(sizeof(Block) == sizeof(Part) && offsetof(Block, bytes) == offsetof(Part, bytes));
  return std::memcmp(known.data(), given.data(), given.size_bytes()) == 0;
}

}  // namespace

VectorExchange::VectorExchange(Resources& resources, const Algorithm& asked,
                               const std::optional<Slots>& slots, const Task& first)
    : resources_(resources) {
  use(fitted(asked, slots, most_aggregated(first)));
  if (told_.empty()) return;
  auto choice = tune::SlotChoice::from_text(told_);
  if (!choice.may_take_slots()) return;
  survey_ = std::make_unique<SlotSurvey>(resources, std::move(choice));
  fitted_.emplace(survey_->way(), algorithm_);
}

/// Of a block. Slots for long blocks take memory, which is provided at once: only where there are
/// such blocks, that would take system calls. Collective.
std::uint64_t VectorExchange::most_aggregated(const Task& first) {
  if (resources_.machine().nodes() > 1) return kMostAggregated;
  const auto is_long = [](const Part& part) { return part.bytes > kMostInSlots; };
  const auto all = resources_.members().agree([&] {
    const bool takes_calls = std::ranges::any_of(first.receives, is_long) &&
                             !resources_.is_reached_by_loads(first.output);
    return std::string(takes_calls ? "calls" : "");
  });
  const bool any = std::ranges::any_of(all, [](const std::string& one) { return !one.empty(); });
  return any ? kMostInSlotsForCalls : kMostInSlots;
}

/// The algorithm with such a limit that stages hold what passes through them, which are there
/// then. Rank 0 tells what `slots` says. Collective.
Algorithm VectorExchange::fitted(const Algorithm& asked, const std::optional<Slots>& slots,
                                 std::uint64_t most_bytes) {
  const hierarchy::Machine& machine = resources_.machine();
  const std::uint64_t limit = resources_.settings().stage_bytes / 2;
  std::uint64_t most = 0;
  Algorithm algorithm;
  for (std::uint64_t bytes = most_bytes; bytes >= kLeastAggregated; bytes /= 2) {
    algorithm = with_aggregate(asked, bytes);
    const auto all = resources_.members().agree([&] {
      const auto bound = algorithm.memory_bound(machine, resources_.rank());
      const bool tells = slots && told_.empty() && resources_.rank() == 0;
      return fmt::format("{} {}", bound ? bound->stage_bytes : 0, tells ? (*slots)() : "");
    });
    if (told_.empty()) told_ = all.front().substr(all.front().find(' ') + 1);
    most = 0;
    for (const std::string& one : all) most = std::max<std::uint64_t>(most, std::stoull(one));
    if (most <= limit || algorithm == asked) break;
  }
  resources_.make_stages(std::max<std::size_t>(most, blocks_of_row() * sizeof(Block)));
  return algorithm;
}

/// From the next call on.
void VectorExchange::use(const Algorithm& algorithm) {
  algorithm_ = algorithm;
  name_ = algorithm.name();
  posted_ = resources_.executor().poster().algorithm(name_);
  plans_by_node_ = !algorithm_.needs_own_rows_only(resources_.machine());
  in_slots_ = !plans_by_node_ && !algorithm_.is_flat() && resources_.machine().nodes() == 1;
  ways_ = BlockWays(algorithm_.parameters().aggregate, in_slots_);
  last_.reset();
  if (node_plans_) node_plans_->forget();
  if (plans_by_node_ && !node_plans_) node_plans_.emplace(resources_, blocks_of_row());
}

/// To the way that the survey has chosen. All ranks come here at the same call. Collective.
void VectorExchange::change_way() {
  const std::size_t way = survey_->way();
  auto known = fitted_.find(way);
  if (known == fitted_.end()) {
    const std::string& name = survey_->choice().ways()[way].algorithm;
    known = fitted_
                .emplace(way,
                         fitted(Algorithm::parse(Collective::alltoallv, name), {}, kMostAggregated))
                .first;
  }
  use(known->second);
}

/// What the calls with this row had for each rank.
void VectorExchange::add_sent_by_row(std::span<std::uint64_t> bytes) const {
  if (uses_ == 0) return;
  for (std::size_t to = 0; to < bytes.size(); ++to) bytes[to] += uses_ * own_[to].bytes;
}

void VectorExchange::add_sent(std::span<std::uint64_t> bytes) const {
  for (std::size_t to = 0; to < sent_.size(); ++to) bytes[to] += sent_[to];
  add_sent_by_row(bytes);
}

/// Whether `task` brings another row than the last call.
bool VectorExchange::update_own_row(const Task& task) {
  const std::span<const Part> sends = task.problem.in_place ? task.receives : task.sends;
  const std::size_t ranks = sends.size();
  const std::span<const Block> known = own_;
  if (!known.empty() && in_place_ == task.problem.in_place && is_alike(known.first(ranks), sends) &&
      is_alike(known.subspan(ranks), task.receives)) {
    return false;
  }
  sent_.resize(ranks);
  add_sent_by_row(sent_);
  uses_ = 0;
  own_.clear();
  for (const Part& part : sends) own_.push_back({part.offset, part.bytes});
  for (const Part& part : task.receives) own_.push_back({part.offset, part.bytes});
  in_place_ = task.problem.in_place;
  return true;
}

/// What this rank knows of a call in which it has this row.
hierarchy::LocalBlocks VectorExchange::known_blocks(std::span<const Block> row) const {
  if (plans_by_node_) return node_plans_->blocks(row, in_place_);
  const auto ranks = static_cast<std::size_t>(resources_.size());
  return hierarchy::LocalBlocks::of_rank(resources_.machine(), resources_.rank(), row.first(ranks),
                                         row.subspan(ranks), in_place_);
}

plan::Plan VectorExchange::make_plan() {
  planned_ = holds_ways() ? ways_.shape() : own_;
  return algorithm_.plan(known_blocks(planned_), resources_.machine(), resources_.rank());
}

engine::Prepared VectorExchange::prepare(const plan::Plan& plan) {
  return resources_.prepare(
      plan, in_slots_ ? engine::inline_messages_of_slots(plan, resources_.place_of_rank())
                      : std::vector<engine::InlineOp>());
}

/// All ranks come here, so that they can vote on what it sets up.
engine::Prepared VectorExchange::prepare_first_call() {
  plan::Plan plan;
  resources_.members().agree([&] { plan = make_plan(); });
  resources_.connect(std::span(&plan, 1));
  return prepare(plan);
}

/// Only ranks whose blocks have changed, or go other ways, come here.
engine::Prepared VectorExchange::prepare_later_call() {
  try {
    const auto begin = std::chrono::steady_clock::now();
    const plan::Plan plan = make_plan();
    if (survey_) survey_->add_planning(ns_since(begin));
    resources_.connect_pairs(plan);
    return prepare(plan);
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    resources_.poison_all(error.what());
  }
}

/// Of the program of the last call, so that it may serve other rows.
void VectorExchange::find_steps() {
  last_steps_ = {};
  if (plans_by_node_ || in_place_) return;
  const engine::Prepared& prepared = *last_->slice;
  last_steps_ = RowSteps(prepared.program, prepared.ranks, resources_.machine(), resources_.rank(),
                         planned_, ways_.ways());
}

/// Makes the program of the last call that of this rank's row; false: it takes a plan.
bool VectorExchange::renumber_last() {
  // Requests keep the programs that they were made with.
  const bool is_free = last_ != nullptr && last_.use_count() == 1;
  if (!is_free || in_place_ || !last_steps_.serves(own_, ways_.ways())) return false;
  const bool same_steps = last_steps_.renumber(own_, last_->slice->program);
  resources_.executor().renumbered(*last_->slice, same_steps);
  return true;
}

/// The call of this rank's row, by a plan of its own.
void VectorExchange::make_call() {
  auto call = std::make_shared<Call>();
  call->slice = last_ == nullptr ? prepare_first_call() : prepare_later_call();
  last_ = std::move(call);
  find_steps();
  if (holds_ways() && !renumber_last()) {
    // A program in slots takes all sizes but those.
    const auto own = static_cast<std::size_t>(resources_.rank());
    resources_.poison_all(
        fmt::format("alltoallv: sends {} bytes to itself and receives {}", own_[own].bytes,
                    own_[own + static_cast<std::size_t>(resources_.size())].bytes));
  }
  if (plans_by_node_) node_plans_->keep(own_, in_place_, last_);
}

void VectorExchange::describe(const Task& task, Call& call) const {
  call.problem = task.problem;
  call.key = call_key(task.problem);
  call.entry = kNoEntry;
  call.is_plain = true;
  call.input_bytes = 0;
  for (std::size_t to = 0; to < task.receives.size(); ++to) call.input_bytes += own_[to].bytes;
  call.slice->call = {Collective::alltoallv, 0, call.input_bytes, posted_};
}

void VectorExchange::count(bool changed) {
  if (changed) {
    const std::span<const Block> own = own_;
    const auto ranks = static_cast<std::size_t>(resources_.size());
    survey_->look_at(in_place_ ? std::span<const Block>() : own.first(ranks), own.subspan(ranks));
  }
  survey_->count_call();
}

const std::shared_ptr<Call>& VectorExchange::call_for(const Task& task) {
  if (survey_ && survey_->begin_call()) change_way();
  const bool changed = update_own_row(task);
  ++uses_;
  if (survey_) count(changed);
  if (plans_by_node_) {
    if (changed) node_plans_->look_for(own_, in_place_);
    if (auto known = node_plans_->find(own_)) return last_ = std::move(known);
  } else {
    const bool goes_as_before = in_place_ || !ways_.begin_call(own_, changed);
    if (!changed && goes_as_before && last_ != nullptr) return last_;
  }
  if (!renumber_last()) make_call();
  describe(task, *last_);
  return last_;
}

}  // namespace weft::comm
