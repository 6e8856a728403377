#include "comm/vector_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "comm/impl.hpp"
#include "comm/together.hpp"
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

}  // namespace

/// A scheme whose stages are large enough for any sizes, the same on all ranks. Collective.
void Communicator::Impl::prepare_vector_exchange(const Problem& problem) {
  vector_ = std::make_unique<comm::VectorExchange>();
  const Algorithm asked = Algorithm::parse(algorithm_for(problem).name);
  const std::uint64_t limit = settings_.stage_bytes / 2;
  std::uint64_t most = 0;
  for (std::uint64_t bytes = kMostAggregated; bytes >= kLeastAggregated; bytes /= 2) {
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
  vector_->rows.resize(places * 2 * static_cast<std::size_t>(size()));
  vector_->entry = entry_for(Collective::alltoallv, vector_->algorithm.name());
  if (places == 1) return;
  // The ranks of the node alone, numbered by their places.
  Problem rows = Problem::alltoall(static_cast<int>(places), row_bytes);
  rows.collective = Collective::allgather;
  std::vector<int> identity(places);
  for (std::size_t place = 0; place < places; ++place) identity[place] = static_cast<int>(place);
  const plan::Plan plan = gather::Algorithm::parse(Collective::allgather, "leader")
                              .plan(rows, hierarchy::Machine::uniform(1, static_cast<int>(places)),
                                    place_of_rank_[rank_]);
  const std::vector<int> places_of_ranks = std::exchange(place_of_rank_, identity);
  vector_->publish = made_ready(plan);
  place_of_rank_ = places_of_ranks;
}

/// A plan for these sizes, which this rank makes by itself.
const std::shared_ptr<Communicator::Impl::Call>& Communicator::Impl::vector_call_for(
    const comm::Task& task) {
  if (!broken_.empty()) throw PeerError(broken_);
  if (vector_ == nullptr) prepare_vector_exchange(task.problem);
  comm::VectorExchange& exchange = *vector_;
  if (exchange.publish) {
    const auto bytes_of = [](const auto& blocks) {
      return reinterpret_cast<const std::byte*>(blocks.data());
    };
    executor_->run(*exchange.publish,
                   {bytes_of(task.rows), reinterpret_cast<std::byte*>(exchange.rows.data())});
    require_no_failure();
  } else {
    exchange.rows = task.rows;
  }
  const bool in_place = task.problem.in_place;
  if (vector_call_ != nullptr && exchange.rows == exchange.known &&
      in_place == exchange.known_in_place) {
    return vector_call_;
  }
  const auto ranks = static_cast<std::size_t>(size());
  hierarchy::LocalBlocks::Rows sends;
  hierarchy::LocalBlocks::Rows receives;
  for (std::size_t at = 0; at < exchange.rows.size(); at += 2 * ranks) {
    const std::span<const Block> rows(exchange.rows);
    if (!in_place) sends.push_back(rows.subspan(at, ranks));
    receives.push_back(rows.subspan(at + ranks, ranks));
  }
  auto call = std::make_shared<Call>();
  call->problem = task.problem;
  call->entry = exchange.entry;
  try {
    const hierarchy::LocalBlocks blocks(machine_, machine_.node_of(rank_), sends, receives,
                                        in_place);
    const plan::Plan plan = exchange.algorithm.plan(blocks, machine_, rank_);
    connect_pairs(plan);
    call->input_bytes = 0;
    for (std::size_t to = 0; to < ranks; ++to) {
      call->input_bytes += blocks.sent_bytes(rank_, static_cast<int>(to));
    }
    call->slice = made_ready(plan);
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  exchange.known = exchange.rows;
  exchange.known_in_place = in_place;
  vector_call_ = std::move(call);
  return vector_call_;
}

}  // namespace weft
