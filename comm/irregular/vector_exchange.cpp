#include "comm/irregular/vector_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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
// On one node a larger block is a message of its own: a copy between the buffers themselves, which
// may take a system call.
constexpr std::uint64_t kMostInSlots = 16 << 10;
constexpr std::uint64_t kLeastAggregated = 64;
// Of the exchange of rows before a call.
constexpr std::uint32_t kShareKey = 0x5ba7e;
// Plans that are kept where they are of the rows of a node, at most as many as a word has bits; two
// at least, and otherwise so many that the rows that they are kept with take no more than this.
constexpr std::size_t kMostKept = 8;
constexpr std::size_t kMostKeptBytes = 256 << 10;

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
                               const std::optional<Slots>& slots)
    : resources_(resources) {
  use(fitted(asked, slots));
  if (told_.empty()) return;
  auto choice = tune::SlotChoice::from_text(told_);
  if (!choice.may_take_slots()) return;
  survey_ = std::make_unique<SlotSurvey>(resources, std::move(choice));
  fitted_.emplace(survey_->way(), algorithm_);
}

/// The algorithm with such a limit that stages hold what passes through them, which are there
/// then. Rank 0 tells what `slots` says. Collective.
Algorithm VectorExchange::fitted(const Algorithm& asked, const std::optional<Slots>& slots) {
  const hierarchy::Machine& machine = resources_.machine();
  const std::uint64_t limit = resources_.settings().stage_bytes / 2;
  std::uint64_t most = 0;
  Algorithm algorithm;
  for (std::uint64_t bytes = machine.nodes() == 1 ? kMostInSlots : kMostAggregated;
       bytes >= kLeastAggregated; bytes /= 2) {
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
  resources_.make_stages(std::max<std::size_t>(most, row_bytes()));
  return algorithm;
}

/// From the next call on.
void VectorExchange::use(const Algorithm& algorithm) {
  algorithm_ = algorithm;
  name_ = algorithm.name();
  posted_ = resources_.executor().poster().algorithm(name_);
  shares_ = !algorithm_.needs_own_rows_only(resources_.machine());
  last_.reset();
  kept_.clear();
  of_row_ = 0;
  if (shares_ && resources_.places() > 1 && !share_rows_) prepare_shares();
}

/// To the way that the survey has chosen. All ranks come here at the same call. Collective.
void VectorExchange::change_way() {
  const std::size_t way = survey_->way();
  auto known = fitted_.find(way);
  if (known == fitted_.end()) {
    const std::string& name = survey_->choice().ways()[way].algorithm;
    known = fitted_.emplace(way, fitted(Algorithm::parse(Collective::alltoallv, name), {})).first;
  }
  use(known->second);
}

void VectorExchange::prepare_shares() {
  const auto places = static_cast<std::size_t>(resources_.places());
  const auto ranks = static_cast<std::size_t>(resources_.size());
  named_.resize(places);
  of_node_.resize(places * 2 * ranks);
  share_names_ = prepare_node_allgather(sizeof named_[0]);
  share_rows_ = prepare_node_allgather(row_bytes());
  share_names_->call = share_rows_->call = {Collective::alltoallv, 0, 0};
}

/// Brings `bytes` of each rank of the node to all of them, numbered by their places.
engine::Prepared VectorExchange::prepare_node_allgather(std::uint64_t bytes) {
  const int places = resources_.places();
  Problem problem = Problem::alltoall(places, bytes);
  problem.collective = Collective::allgather;
  const auto algorithm = Algorithm::parse(Collective::allgather, "leader");
  const auto machine = hierarchy::Machine::uniform(1, places);
  const int own = resources_.place();
  std::vector<int> identity;
  std::vector<plan::Plan> plans;
  for (int place = 0; place < places; ++place) {
    identity.push_back(place);
    plans.push_back(algorithm.plan(problem, machine, place));
  }
  const auto inline_ops = bytes <= engine::kInlineBytes ? engine::find_inline_messages(plans, own)
                                                        : std::vector<engine::InlineOp>();
  return resources_.prepare(plans[static_cast<std::size_t>(own)], inline_ops, identity);
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

void VectorExchange::allgather_on_node(const engine::Prepared& prepared, const void* mine,
                                       void* all) {
  resources_.executor().run(prepared,
                            {static_cast<const std::byte*>(mine), static_cast<std::byte*>(all)});
  resources_.require_no_failure();
}

std::size_t VectorExchange::most_kept() const noexcept {
  return std::clamp<std::size_t>(kMostKeptBytes / row_bytes(), 2, kMostKept);
}

/// Those that are kept.
void VectorExchange::find_plans_of_row() {
  of_row_ = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].in_place == in_place_ && kept_[i].own == own_) of_row_ |= std::uint64_t{1} << i;
  }
}

/// Takes a plan of the rows that the ranks of the node have in this call; false: none is kept, and
/// `of_node_` has the rows.
bool VectorExchange::find_shared_plan() {
  std::uint64_t named_by_all = of_row_;
  if (share_names_) {
    allgather_on_node(*share_names_, &of_row_, named_.data());
    for (const std::uint64_t one : named_) named_by_all &= one;
  }
  if (named_by_all != 0) {
    Kept& kept = kept_[static_cast<std::size_t>(std::countr_zero(named_by_all))];
    kept.used = ++used_;
    last_ = kept.call;
    return true;
  }
  if (share_rows_) allgather_on_node(*share_rows_, own_.data(), of_node_.data());
  return false;
}

/// The plan of the last call, in the place of that which has not been used for longest.
void VectorExchange::keep_shared_plan() {
  if (kept_.size() < most_kept()) kept_.emplace_back();
  Kept& kept = kept_.back().call == nullptr ? kept_.back()
                                            : *std::ranges::min_element(kept_, {}, &Kept::used);
  kept = {own_, in_place_, last_, ++used_};
  of_row_ |= std::uint64_t{1} << (&kept - kept_.data());
}

/// The blocks of the last call that this rank knows.
hierarchy::LocalBlocks VectorExchange::known_blocks() const {
  const hierarchy::Machine& machine = resources_.machine();
  const int rank = resources_.rank();
  const auto ranks = static_cast<std::size_t>(resources_.size());
  const std::span<const Block> own = own_;
  if (!shares_ || !share_rows_) {
    return hierarchy::LocalBlocks::of_rank(machine, rank, own.first(ranks), own.subspan(ranks),
                                           in_place_);
  }
  hierarchy::LocalBlocks::Rows sends;
  hierarchy::LocalBlocks::Rows receives;
  const std::span<const Block> rows = of_node_;
  for (std::size_t at = 0; at < rows.size(); at += 2 * ranks) {
    if (!in_place_) sends.push_back(rows.subspan(at, ranks));
    receives.push_back(rows.subspan(at + ranks, ranks));
  }
  return {machine, machine.node_of(rank), sends, receives, in_place_};
}

plan::Plan VectorExchange::make_plan() const {
  return algorithm_.plan(known_blocks(), resources_.machine(), resources_.rank());
}

engine::Prepared VectorExchange::prepare(const plan::Plan& plan) {
  const bool in_slots = !shares_ && !algorithm_.is_flat() && resources_.machine().nodes() == 1;
  return resources_.prepare(
      plan, in_slots ? engine::inline_messages_of_slots(plan, resources_.place_of_rank())
                     : std::vector<engine::InlineOp>());
}

/// All ranks come here, so that they can vote on what it sets up.
engine::Prepared VectorExchange::prepare_first_call() {
  plan::Plan plan;
  resources_.members().agree([&] { plan = make_plan(); });
  resources_.connect(std::span(&plan, 1));
  return prepare(plan);
}

/// Only ranks whose blocks have changed come here.
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
  if (shares_ || in_place_) return;
  const engine::Prepared& prepared = *last_->slice;
  last_steps_ = RowSteps(prepared.program, prepared.ranks, resources_.machine(), resources_.rank(),
                         own_, algorithm_.parameters().aggregate);
}

/// Makes the program of the last call that of this rank's row; false: it takes a plan.
bool VectorExchange::renumber_last() {
  // Requests keep the programs that they were made with.
  const bool is_free = last_ != nullptr && last_.use_count() == 1;
  if (!is_free || in_place_ || !last_steps_.serves(own_)) return false;
  last_steps_.renumber(own_, last_->slice->program);
  resources_.executor().renumbered(*last_->slice);
  return true;
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
  if (shares_) {
    if (changed) find_plans_of_row();
    resources_.executor().begin_call(kShareKey);  // also where there are no neighbours
    if (find_shared_plan()) return last_;
  } else if (!changed && last_ != nullptr) {
    return last_;
  }
  if (!renumber_last()) {
    auto call = std::make_shared<Call>();
    call->slice = last_ == nullptr ? prepare_first_call() : prepare_later_call();
    last_ = std::move(call);
    find_steps();
    if (shares_) keep_shared_plan();
  }
  describe(task, *last_);
  return last_;
}

}  // namespace weft::comm
