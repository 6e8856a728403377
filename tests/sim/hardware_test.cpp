#include "sim/hardware.hpp"

#include <gtest/gtest.h>

namespace weft::sim::hardware_test {
namespace {

TEST(Scaling, IsLinearBetweenItsPointsAndConstantBeyond) {
  const Scaling scaling{{{1, 1.0}, {2, 1.6}, {6, 0.8}}};
  EXPECT_DOUBLE_EQ(scaling.at(1), 1.0);
  EXPECT_DOUBLE_EQ(scaling.at(2), 1.6);
  EXPECT_DOUBLE_EQ(scaling.at(4), 1.2);
  EXPECT_DOUBLE_EQ(scaling.at(6), 0.8);
  EXPECT_DOUBLE_EQ(scaling.at(64), 0.8);
  EXPECT_DOUBLE_EQ(Scaling{}.at(8), 1.0);
}

}  // namespace
}  // namespace weft::sim::hardware_test
