#include "comm/irregular/vector_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "comm/setup/together.hpp"
#include "gather/registry.hpp"

namespace weft {

using alltoall::Algorithm;
using plan::Block;
using plan::Collective;
using plan::Problem;

namespace {

// Larger blocks go straight to their ranks where stages allow as much: beyond, another copy costs
// more than a message of its own.
constexpr std::uint64_t kMostAggregated = 8 << 10;
// On one node a message is a copy between the buffers themselves, which may take a system call:
// from where alltoall reads in place if it does (tune::reads_in_place).
constexpr std::uint64_t kMostInSlots = 16 << 10;
constexpr std::uint64_t kLeastAggregated = 64;

Algorithm with_aggregate(const Algorithm& algorithm, std::uint64_t bytes) {
  if (algorithm.is_flat() ||
      algorithm.parameters().aggregate != alltoall::Parameters::kEverything) {
    return algorithm;
  }
  const std::string name = algorithm.name();
  return Algorithm::parse(
      fmt::format("{}{}aggregate={}", name, name.find(':') == name.npos ? ':' : ',', bytes));
}

/// The same bytes in the same places.
bool is_alike(std::span<const Block> known, std::span<const Part> given) {
  static_assert(sizeof(Block) == sizeof(Part) && offsetof(Block, bytes) == offsetof(Part, bytes));
  return std::memcmp(known.data(), given.data(), given.size_bytes()) == 0;
}

}  // namespace

bool comm::VectorExchange::take_up(const Task& task) {
  const std::span<const Part> sends = task.problem.in_place ? task.receives : task.sends;
  const std::size_t ranks = sends.size();
  const std::span<const Block> known = own;
  if (!known.empty() && in_place == task.problem.in_place && is_alike(known.first(ranks), sends) &&
      is_alike(known.subspan(ranks), task.receives)) {
    return false;
  }
  own.clear();
  for (const Part& part : sends) own.push_back({part.offset, part.bytes});
  for (const Part& part : task.receives) own.push_back({part.offset, part.bytes});
  in_place = task.problem.in_place;
  return true;
}

/// Brings `bytes` of each rank of the node to all of them, numbered by their places.
engine::Prepared Communicator::Impl::make_publishing(std::uint64_t bytes) {
  const int places = machine_.ranks_on_node_of(rank_);
  Problem problem = Problem::alltoall(places, bytes);
  problem.collective = Collective::allgather;
  const auto algorithm = gather::Algorithm::parse(Collective::allgather, "leader");
  const auto machine = hierarchy::Machine::uniform(1, places);
  const int own = place_of_rank_[rank_];
  std::vector<int> identity;
  std::vector<plan::Plan> plans;
  for (int place = 0; place < places; ++place) {
    identity.push_back(place);
    plans.push_back(algorithm.plan(problem, machine, place));
  }
  const auto letters = bytes <= engine::kLetterBytes ? engine::find_letters(plans, own)
                                                     : std::vector<engine::LetterOp>();
  return made_ready(plans[static_cast<std::size_t>(own)], letters, identity);
}

/// A scheme whose stages are large enough for any sizes, the same on all ranks. Collective.
void Communicator::Impl::prepare_vector_exchange(const Problem& problem) {
  vector_ = std::make_unique<comm::VectorExchange>();
  note_passed_over(problem);
  const Algorithm asked = Algorithm::parse(algorithm_for(problem).name);
  const std::uint64_t limit = settings_.stage_bytes / 2;
  std::uint64_t most = 0;
  for (std::uint64_t bytes = machine_.nodes() == 1 ? kMostInSlots : kMostAggregated;
       bytes >= kLeastAggregated; bytes /= 2) {
    vector_->algorithm = with_aggregate(asked, bytes);
    const auto all = together([&] {
      const auto bound = vector_->algorithm.memory_bound(machine_, rank_);
      return fmt::format("{}", bound ? bound->stage_bytes : 0);
    });
    most = 0;
    for (const std::string& one : all) most = std::max<std::uint64_t>(most, std::stoull(one));
    if (most <= limit || vector_->algorithm == asked) break;
  }
  const auto places = static_cast<std::size_t>(machine_.ranks_on_node_of(rank_));
  const std::size_t row_bytes = 2 * static_cast<std::size_t>(size()) * sizeof(Block);
  make_stages(std::max({limit, most, row_bytes}));
  vector_->entry = entry_for(Collective::alltoallv, vector_->algorithm.name());
  if (places == 1 || vector_->algorithm.needs_own_rows_only(machine_)) return;
  vector_->news.resize(places);
  vector_->of_node.resize(places * 2 * static_cast<std::size_t>(size()));
  vector_->tell_news = make_publishing(sizeof vector_->news[0]);
  vector_->publish = make_publishing(row_bytes);
}

/// Whether the node's rows are others than in the last call. They are published then.
bool Communicator::Impl::hear_of_node(bool is_new) {
  comm::VectorExchange& exchange = *vector_;
  const auto publish = [&](const engine::Prepared& prepared, const auto* mine, auto& all) {
    executor_->run(prepared, {reinterpret_cast<const std::byte*>(mine),
                              reinterpret_cast<std::byte*>(all.data())});
    require_no_failure();
  };
  const std::uint64_t news = is_new ? 1 : 0;
  publish(*exchange.tell_news, &news, exchange.news);
  if (std::ranges::none_of(exchange.news, [](std::uint64_t one) { return one != 0; })) return false;
  publish(*exchange.publish, exchange.own.data(), exchange.of_node);
  return true;
}

/// What this rank knows of the call that it has taken up.
hierarchy::LocalBlocks Communicator::Impl::known_blocks() const {
  const comm::VectorExchange& exchange = *vector_;
  const auto ranks = static_cast<std::size_t>(size());
  const std::span<const Block> own = exchange.own;
  if (!exchange.publish) {
    return hierarchy::LocalBlocks::of_rank(machine_, rank_, own.first(ranks), own.subspan(ranks),
                                           exchange.in_place);
  }
  hierarchy::LocalBlocks::Rows sends;
  hierarchy::LocalBlocks::Rows receives;
  const std::span<const Block> rows = exchange.of_node;
  for (std::size_t at = 0; at < rows.size(); at += 2 * ranks) {
    if (!exchange.in_place) sends.push_back(rows.subspan(at, ranks));
    receives.push_back(rows.subspan(at + ranks, ranks));
  }
  return {machine_, machine_.node_of(rank_), sends, receives, exchange.in_place};
}

/// A plan for these sizes, which this rank makes by itself.
const std::shared_ptr<Communicator::Impl::Call>& Communicator::Impl::vector_call_for(
    const comm::Task& task) {
  if (!broken_.empty()) throw PeerError(broken_);
  if (vector_ == nullptr) prepare_vector_exchange(task.problem);
  comm::VectorExchange& exchange = *vector_;
  bool is_new = exchange.take_up(task);
  if (exchange.publish) is_new = hear_of_node(is_new);
  if (!is_new) return vector_call_;
  auto call = std::make_shared<Call>();
  call->problem = task.problem;
  call->entry = exchange.entry;
  call->is_plain = true;
  for (std::size_t to = 0; to < task.receives.size(); ++to) {
    call->input_bytes += exchange.own[to].bytes;
  }
  try {
    const plan::Plan plan = exchange.algorithm.plan(known_blocks(), machine_, rank_);
    connect_pairs(plan);
    const bool in_slots =
        !exchange.publish && !exchange.algorithm.is_flat() && machine_.nodes() == 1;
    call->slice = made_ready(plan, in_slots ? engine::letters_of_slots(plan, place_of_rank_)
                                            : std::vector<engine::LetterOp>());
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  vector_call_ = std::move(call);
  return vector_call_;
}

}  // namespace weft
