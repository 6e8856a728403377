// The shape of Bine trees and butterflies, against the formulas of the paper (arXiv:2508.17311).
#include "algorithm/bine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "gather/flat/tree.hpp"

namespace weft::algorithm::bine_test {
namespace {

/// (1 - (-2)^k) / 3: the distance of partners in the step that brings k bits together.
int distance(int bits) {
  int power = 1;
  for (int i = 0; i < bits; ++i) power *= -2;
  return (1 - power) / 3;
}

using Edges = std::set<std::pair<int, int>>;

/// The tree of the paper: whoever has data sends it, step by step, `sign` times the distance away
/// where its number is even, the other way where it is odd.
Edges edges_of_paper(int steps, int root, int sign) {
  const int p = 1 << steps;
  Edges edges;
  std::vector<int> have = {0};
  for (int step = 0; step < steps; ++step) {
    std::vector<int> next = have;
    for (const int one : have) {
      const int to = one + sign * (one % 2 == 0 ? 1 : -1) * distance(steps - step);
      next.push_back((to + 2 * p) % p);
      edges.insert({(one + root) % p, (next.back() + root) % p});
    }
    have = std::move(next);
  }
  return edges;
}

TEST(BineTree, IsThatOfThePaperForPowersOfTwo) {
  for (int steps = 0; steps <= 10; ++steps) {
    const int p = 1 << steps;
    Edges edges;
    for (int member = 0; member < p; ++member) {
      const BinePlace place = bine_place(p, member);
      if (place.parent >= 0) edges.insert({place.parent, member});
    }
    const int sign = steps % 2 == 0 ? -1 : 1;
    EXPECT_EQ(edges, edges_of_paper(steps, bine_head(p), sign)) << p;
  }
}

TEST(BineTree, HasOneParentForEachMemberAndShorterEdgesThanABinomialOne) {
  for (int p = 1; p <= 300; ++p) {
    int length = 0;
    int binomial = 0;
    for (int member = 0; member < p; ++member) {
      const BinePlace place = bine_place(p, member);
      EXPECT_EQ(place.parent < 0, member == bine_head(p));
      for (const int child : place.children) {
        EXPECT_EQ(bine_place(p, child).parent, member) << child << " of " << p;
        EXPECT_LE(3 * std::abs(child - member), p + 3) << p;
        length += std::abs(child - member);
      }
      const auto node = gather::find_in_tree(gather::binomial_tree, 2, p, member);
      binomial += member - std::max(node.parent, 0);
    }
    EXPECT_LE(length, binomial) << p;
    EXPECT_TRUE(p < 32 || length <= binomial * 9 / 10) << p << " " << length << " " << binomial;
  }
}

TEST(BineButterfly, HasTheDistancesOfThePaper) {
  for (int steps = 0; steps <= 12; ++steps) {
    const BineButterfly butterfly(1 << steps);
    ASSERT_EQ(butterfly.steps(), steps);
    for (int member = 0; member < butterfly.members(); ++member) {
      for (int step = 0; step < steps; ++step) {
        const int other = butterfly.partner(member, step);
        EXPECT_EQ(butterfly.partner(other, step), member);
        const int away = std::abs(other - member);
        EXPECT_EQ(std::min(away, butterfly.members() - away), std::abs(distance(step + 1)));
      }
    }
  }
}

TEST(BineButterfly, LabelsTellWhoStaysTogether) {
  for (int steps = 0; steps <= 12; ++steps) {
    const BineButterfly butterfly(1 << steps);
    std::set<int> labels;
    for (int member = 0; member < butterfly.members(); ++member) {
      const int label = butterfly.label(member);
      labels.insert(label);
      EXPECT_EQ(butterfly.member_of(label), member);
      for (int step = 0; step < steps; ++step) {
        const int differs = label ^ butterfly.label(butterfly.partner(member, step));
        EXPECT_EQ(differs & -differs, 1 << step) << member << " of " << butterfly.members();
      }
    }
    EXPECT_EQ(static_cast<int>(labels.size()), butterfly.members());
    EXPECT_EQ(*labels.rbegin() - *labels.begin(), butterfly.members() - 1);
  }
}

}  // namespace
}  // namespace weft::algorithm::bine_test
