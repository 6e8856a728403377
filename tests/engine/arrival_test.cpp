// When the ranks of a node came to a call, as each of them sees it.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/node/node_control.hpp"

namespace weft::engine::arrival_test {
namespace {

std::vector<std::unique_ptr<NodeControl>> make_node(int places) {
  std::vector<int> ranks(places);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::unique_ptr<NodeControl>> node;
  std::vector<std::string> handles;
  for (int place = 0; place < places; ++place) {
    node.push_back(std::make_unique<NodeControl>(place, ranks, NodeControl::Options{}));
    handles.push_back(node.back()->handle());
  }
  for (const auto& one : node) one->attach(handles);
  return node;
}

// The last that came no later than the call took, and was there when it was over. A rank that is
// further on than the next execution had come long before.
RC_GTEST_PROP(Arrival, OfTheLastThatCameInTime, ()) {
  const int places = *rc::gen::inRange(1, 6);
  const auto node = make_node(places);
  const auto execution = *rc::gen::inRange<std::uint64_t>(3, 100);
  const auto within = *rc::gen::inRange<std::uint32_t>(0, 1000);
  const auto arrived = *rc::gen::arbitrary<std::uint32_t>();  // also shortly before it comes round
  node[0]->enter(execution, {}, nullptr, nullptr, arrived);
  std::uint32_t expected = 0;
  for (int place = 1; place < places; ++place) {
    const int later = *rc::gen::inRange(-2000, 2000);
    const auto reached = *rc::gen::inRange(execution - 2, execution + 4);
    for (std::uint64_t number = execution - 2; number <= reached; ++number) {
      // To others it comes at other times.
      const int at = number == execution ? later : later + 1 + static_cast<int>(number % 7);
      node[place]->enter(number, {}, nullptr, nullptr, arrived + static_cast<std::uint32_t>(at));
    }
    const bool is_known = reached == execution || reached == execution + 1;
    if (is_known && later >= 0 && static_cast<std::uint32_t>(later) <= within) {
      expected = std::max(expected, static_cast<std::uint32_t>(later));
    }
  }
  RC_ASSERT(node[0]->last_arrival(execution, arrived, within) == expected);
}

}  // namespace
}  // namespace weft::engine::arrival_test
