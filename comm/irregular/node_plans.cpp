#include "comm/irregular/node_plans.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "registry/algorithm.hpp"

namespace weft::comm {

using plan::Block;
using plan::Collective;
using plan::Problem;
using registry::Algorithm;

namespace {

// Of the exchange of words and rows before a call.
constexpr std::uint32_t kShareKey = 0x5ba7e;
// At most as many as a word has bits; two at least, and otherwise so many that the rows that they
// are kept with take no more than this.
constexpr std::size_t kMostKept = 8;
constexpr std::size_t kMostKeptBytes = 256 << 10;

/// Brings `bytes` of each rank of the node to all of them, numbered by their places.
engine::Prepared prepare_allgather(Resources& resources, std::uint64_t bytes) {
  const int places = resources.places();
  Problem problem = Problem::alltoall(places, bytes);
  problem.collective = Collective::allgather;
  const auto algorithm = Algorithm::parse(Collective::allgather, "leader");
  const auto machine = hierarchy::Machine::uniform(1, places);
  const int own = resources.place();
  std::vector<int> identity;
  std::vector<plan::Plan> plans;
  for (int place = 0; place < places; ++place) {
    identity.push_back(place);
    plans.push_back(algorithm.plan(problem, machine, place));
  }
  const auto inline_ops = bytes <= engine::kInlineBytes ? engine::find_inline_messages(plans, own)
                                                        : std::vector<engine::InlineOp>();
  auto prepared = resources.prepare(plans[static_cast<std::size_t>(own)], inline_ops, identity);
  prepared.call = {Collective::alltoallv, 0, 0};
  return prepared;
}

}  // namespace

NodePlans::Shares::Shares(Resources& resources, std::size_t blocks_of_row)
    : names(prepare_allgather(resources, sizeof named[0])),
      rows(prepare_allgather(resources, blocks_of_row * sizeof(Block))),
      named(static_cast<std::size_t>(resources.places())),
      of_ranks(named.size() * blocks_of_row) {}

NodePlans::NodePlans(Resources& resources, std::size_t blocks_of_row)
    : resources_(resources),
      most_(
          std::clamp<std::size_t>(kMostKeptBytes / (blocks_of_row * sizeof(Block)), 2, kMostKept)) {
  if (resources.places() > 1) shares_.emplace(resources, blocks_of_row);
}

void NodePlans::forget() noexcept {
  kept_.clear();
  of_row_ = 0;
}

void NodePlans::look_for(std::span<const Block> row, bool in_place) {
  of_row_ = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].in_place == in_place && std::ranges::equal(kept_[i].row, row)) {
      of_row_ |= std::uint64_t{1} << i;
    }
  }
}

void NodePlans::allgather(const engine::Prepared& prepared, const void* mine, void* all) {
  resources_.executor().run(prepared,
                            {static_cast<const std::byte*>(mine), static_cast<std::byte*>(all)});
  resources_.require_no_failure();
}

std::shared_ptr<Call> NodePlans::find(std::span<const Block> row) {
  resources_.executor().begin_call(kShareKey);  // also where there are no neighbours
  std::uint64_t named_by_all = of_row_;
  if (shares_) {
    allgather(shares_->names, &of_row_, shares_->named.data());
    for (const std::uint64_t one : shares_->named) named_by_all &= one;
  }
  if (named_by_all != 0) {
    Kept& kept = kept_[static_cast<std::size_t>(std::countr_zero(named_by_all))];
    kept.used = ++uses_;
    return kept.call;
  }
  if (shares_) allgather(shares_->rows, row.data(), shares_->of_ranks.data());
  return nullptr;
}

hierarchy::LocalBlocks NodePlans::blocks(std::span<const Block> row, bool in_place) const {
  const hierarchy::Machine& machine = resources_.machine();
  const auto ranks = static_cast<std::size_t>(resources_.size());
  const int rank = resources_.rank();
  if (!shares_) {
    return hierarchy::LocalBlocks::of_rank(machine, rank, row.first(ranks), row.subspan(ranks),
                                           in_place);
  }
  hierarchy::LocalBlocks::Rows sends;
  hierarchy::LocalBlocks::Rows receives;
  const std::span<const Block> rows = shares_->of_ranks;
  for (std::size_t at = 0; at < rows.size(); at += 2 * ranks) {
    if (!in_place) sends.push_back(rows.subspan(at, ranks));
    receives.push_back(rows.subspan(at + ranks, ranks));
  }
  return {machine, machine.node_of(rank), sends, receives, in_place};
}

void NodePlans::keep(std::span<const Block> row, bool in_place, std::shared_ptr<Call> call) {
  if (kept_.size() < most_) kept_.emplace_back();
  Kept& kept = kept_.back().call == nullptr ? kept_.back()
                                            : *std::ranges::min_element(kept_, {}, &Kept::used);
  kept = {{row.begin(), row.end()}, in_place, std::move(call), ++uses_};
  of_row_ |= std::uint64_t{1} << (&kept - kept_.data());
}

}  // namespace weft::comm
