#include "comm/irregular/slot_survey.hpp"

#include <algorithm>
#include <utility>

#include "base/cast.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

using plan::Block;
using plan::Collective;
using plan::Problem;
using tune::PairCounts;

namespace {

// Of the allreduce before a call.
constexpr std::uint32_t kSurveyKey = 0x51075;

Problem problem_of(int ranks) {
  Problem problem = Problem::alltoall(ranks, sizeof(PairCounts));
  problem.collective = Collective::allreduce;
  problem.element_bytes = sizeof(std::uint64_t);
  problem.commutative = problem.associative = true;
  return problem;
}

engine::Prepared prepare_allreduce(Resources& resources) {
  const auto algorithm = tune::Algorithm::parse(Collective::allreduce, "recursive-doubling");
  plan::Plan plan;
  resources.members().agree([&] {
    plan = algorithm.plan(problem_of(resources.size()), resources.machine(), resources.rank());
  });
  resources.connect(std::span(&plan, 1));
  engine::Prepared prepared = resources.prepare(plan);
  prepared.call = {Collective::alltoallv, 0, 0,
                   resources.executor().poster().algorithm("counts before a call")};
  return prepared;
}

/// Numbers of a PairCounts, one after another.
template <class Numbers, class Counts>
Numbers* numbers_of(Counts& counts) {
  static_assert(sizeof(PairCounts) == (2 + PairCounts::kSizes.size()) * sizeof(std::uint64_t));
  return reinterpret_cast<Numbers*>(&counts);
}

}  // namespace

SlotSurvey::SlotSurvey(Resources& resources, tune::SlotChoice choice)
    : resources_(resources), choice_(std::move(choice)), allreduce_(prepare_allreduce(resources)) {}

PairCounts SlotSurvey::average() const noexcept {
  PairCounts average = sum_;
  average.blocks = ceil_div(average.blocks, calls_);
  for (std::uint64_t& one : average.larger) one = ceil_div(one, calls_);
  average.planning_ns /= calls_;
  return average;
}

bool SlotSurvey::begin_call() {
  if (calls_ < next_) return false;
  const PairCounts mine = average();
  PairCounts most;
  const Operation maximum = operation(Operator::maximum, Type::uint64);
  resources_.executor().begin_call(kSurveyKey);
  resources_.executor().run(
      allreduce_, {numbers_of<const std::byte>(mine), numbers_of<std::byte>(most), &maximum});
  resources_.require_no_failure();
  sum_ = {};
  before_ += calls_;
  next_ = std::min(before_ + 1, kMostCalls);
  calls_ = 0;
  const std::size_t chosen = choice_.choose(most, way_);
  return std::exchange(way_, chosen) != chosen;
}

void SlotSurvey::look_at(std::span<const Block> sends, std::span<const Block> receives) {
  of_call_ = {};
  const auto places = resources_.place_of_rank();
  for (const auto row : {sends.empty() ? receives : sends, receives}) {
    for (std::size_t rank = 0; rank < row.size(); ++rank) {
      const std::uint64_t bytes = row[rank].bytes;
      if (bytes == 0 || places[rank] >= 0) continue;
      ++of_call_.blocks;
      for (std::size_t i = 0; i < PairCounts::kSizes.size() && bytes > PairCounts::kSizes[i]; ++i) {
        ++of_call_.larger[i];
      }
    }
  }
}

void SlotSurvey::count_call() noexcept {
  sum_.blocks += of_call_.blocks;
  for (std::size_t i = 0; i < sum_.larger.size(); ++i) sum_.larger[i] += of_call_.larger[i];
  ++calls_;
}

}  // namespace weft::comm
