#include "tests/alltoall/counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>

#include "base/env.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::alltoall {

namespace {

/// The blocks of `sizes`, placed.
std::vector<plan::Block> place(const std::vector<std::uint64_t>& sizes, Placing placing) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (placing == Placing::backwards) std::ranges::reverse(order);
  if (placing == Placing::permuted) {
    std::ranges::stable_sort(order, {}, [](std::size_t i) { return i * 0x9e3779b97f4a7c15u; });
  }
  std::vector<plan::Block> blocks(sizes.size());
  std::uint64_t offset = placing == Placing::gaps ? 5 : 0;
  for (const std::size_t i : order) {
    blocks[i] = {offset, sizes[i]};
    offset += sizes[i] + (placing == Placing::gaps ? 3 + i % 2 : 0);
  }
  return blocks;
}

Placing any_placing() {
  return *rc::gen::element(Placing::dense, Placing::gaps, Placing::backwards, Placing::permuted);
}

std::uint64_t hashed(std::uint64_t seed, int from, int to) {
  std::mt19937_64 engine(seed * 1'000'003 + static_cast<std::uint64_t>(from) * 4099 +
                         static_cast<std::uint64_t>(to));
  return engine();
}

/// The sizes themselves for few ranks, so that they shrink one by one; a function else.
Sizes drawn_sizes(int ranks) {
  const auto size = rc::gen::weightedElement<std::uint64_t>(
      {{6, 0}, {2, 1}, {3, 8}, {2, 24}, {1, 64}, {1, 100}, {1, 70'000}, {1, 300'000}});
  const auto count = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
  if (ranks <= 8) {
    const auto list = *rc::gen::container<std::vector<std::uint64_t>>(count, size).as("sizes");
    return [list, ranks](int from, int to) {
      return list[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
                  static_cast<std::size_t>(to)];
    };
  }
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000).as("seed of sizes");
  const auto zeros = *rc::gen::element<std::uint64_t>(0, 2, 9).as("zeros among ten");
  return [seed, zeros](int from, int to) -> std::uint64_t {
    const std::uint64_t value = hashed(seed, from, to);
    if (value % 10 < zeros) return 0;
    return value / 16 % 50 == 0 ? 70'000 + value / 1024 % 200'000 : value / 1024 % 100;
  };
}

Sizes any_sizes(int ranks) {
  const int kind =
      *rc::gen::weightedElement<int>({{4, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}).as("kind of sizes");
  const int hot = *rc::gen::inRange(0, ranks).as("hot rank");
  switch (kind) {
    case 1:
      return [](int, int) -> std::uint64_t { return 24; };
    case 2:
      return [hot](int from, int) -> std::uint64_t { return from == hot ? 100'000 : 0; };
    case 3:
      return [hot](int from, int to) -> std::uint64_t {
        return to == hot ? 1'000 : static_cast<std::uint64_t>(from % 2);
      };
    case 4:
      return [](int from, int to) -> std::uint64_t { return std::abs(from - to) == 1 ? 48 : 0; };
    default:
      return drawn_sizes(ranks);
  }
}

struct Quiet : rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

}  // namespace

plan::Problem make_alltoallv(int ranks, const Sizes& sizes, Placing sends, Placing receives,
                             bool in_place) {
  plan::Problem problem;
  problem.collective = plan::Collective::alltoallv;
  problem.ranks = ranks;
  problem.in_place = in_place;
  std::vector<std::uint64_t> row(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int peer = 0; peer < ranks; ++peer) {
      row[peer] = in_place ? sizes(std::min(rank, peer), std::max(rank, peer)) : sizes(peer, rank);
    }
    problem.receives.push_back(place(row, receives));
    if (in_place) continue;
    for (int peer = 0; peer < ranks; ++peer) row[peer] = sizes(rank, peer);
    problem.sends.push_back(place(row, sends));
  }
  return problem;
}

plan::Problem any_alltoallv(int ranks, bool in_place) {
  const Sizes sizes = any_sizes(ranks);
  const Placing sends = any_placing();
  return make_alltoallv(ranks, sizes, sends, any_placing(), in_place);
}

std::string any_aggregate() {
  return *rc::gen::element<std::string>("", "", ",aggregate=0", ",aggregate=30", ",aggregate=64K")
              .as("aggregate");
}

void check_property(const std::function<void()>& property, int draws) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(info->test_suite_name()) + "/" + info->name();
  metadata.description = info->name();
  const auto& configuration = rc::detail::configuration();
  auto params = configuration.testParams;
  params.maxSuccess = draws * (env::flag("WEFT_LONG_TESTS").value_or(false) ? 100 : 1);
  Quiet quiet;
  const auto result =
      rc::detail::checkTestable(property, metadata, params, quiet, configuration.reproduce);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str();
}

hierarchy::Machine any_wide_machine(int most_ranks, int most_nodes) {
  const int ranks = *rc::gen::inRange(1, most_ranks + 1).as("ranks");
  const int nodes = *rc::gen::inRange(1, std::min(ranks, most_nodes) + 1).as("nodes");
  std::vector<int> node_of_rank;
  const bool interleaved = *rc::gen::arbitrary<bool>().as("interleaved");
  const bool uneven = *rc::gen::arbitrary<bool>().as("uneven");
  for (int rank = 0; rank < ranks; ++rank) {
    const auto draw = hashed(static_cast<std::uint64_t>(nodes), rank, ranks);
    node_of_rank.push_back(rank < nodes || !uneven ? rank % nodes
                                                   : static_cast<int>(draw % nodes * (draw % 2)));
  }
  if (!interleaved) std::ranges::sort(node_of_rank);
  const hierarchy::Machine machine(std::move(node_of_rank));
  return *rc::gen::arbitrary<bool>().as("domains") ? hierarchy::with_any_domains(machine) : machine;
}

}  // namespace weft::alltoall
