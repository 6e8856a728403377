// Disturbance: what others take of the cores is told from what ranks take from each other.
#include "device_measurements/disturbance.hpp"

#include <gtest/gtest.h>

namespace weft::device_measurements::disturbance_test {
namespace {

constexpr double kTask_ns = 1e9;

/// A rank with a core of its own for all of a task, on a machine of two cores.
RankTimes rank(pid_t process) {
  RankTimes one;
  one.is_active = true;
  one.times = {.process = process,
               .task_ns = kTask_ns,
               .cores = 2,
               .window_ns = kTask_ns,
               .ran_ns = kTask_ns,
               .ran_user_ns = kTask_ns / 2};
  return one;
}

/// What all programs had, as a kernel says it.
void all(std::vector<RankTimes>& ranks, double ns, double user_ns) {
  for (RankTimes& one : ranks) {
    one.times.all_ns = ns;
    one.times.all_user_ns = user_ns;
  }
}

TEST(Disturbance, IsNoneAmongRanksWithCores) {
  std::vector<RankTimes> ranks = {rank(1), rank(2)};
  all(ranks, 2 * kTask_ns, kTask_ns);
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_EQ(seen.share(), 0);
  EXPECT_NEAR(seen.use().others_s, 0, 1e-9);
  EXPECT_NEAR(seen.use().seconds, 1, 1e-9);
  EXPECT_EQ(seen.use().cores, 2);
}

TEST(Disturbance, IsTheLongestWaitForACore) {
  std::vector<RankTimes> ranks = {rank(1), rank(2), rank(3)};
  ranks[0].times.waited_ns = 0.1 * kTask_ns;
  ranks[1].times.waited_ns = 0.4 * kTask_ns;
  ranks[2].times.waited_ns = 0.9 * kTask_ns;
  ranks[2].is_active = false;  // waits for the end of the task
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_NEAR(seen.share(), 0.4, 1e-9);
  seen.add({rank(1), rank(2), ranks[2]}, false);
  EXPECT_NEAR(seen.share(), 0.2, 1e-9) << "of both tasks";
  seen.begin();
  EXPECT_EQ(seen.share(), 0);
}

/// Four ranks on two cores wait for each other half of the time.
std::vector<RankTimes> crowd() {
  std::vector<RankTimes> ranks = {rank(1), rank(2), rank(3), rank(4)};
  for (RankTimes& one : ranks) {
    one.times.ran_ns = kTask_ns / 2;
    one.times.ran_user_ns = kTask_ns / 4;
    one.times.waited_ns = kTask_ns / 2;
  }
  return ranks;
}

TEST(Disturbance, IsNotThatRanksWaitForEachOther) {
  std::vector<RankTimes> ranks = crowd();
  all(ranks, 2 * kTask_ns, kTask_ns);
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_EQ(seen.share(), 0);
  // Other programs take a third of the cores.
  all(ranks, 2 * kTask_ns, kTask_ns);
  for (RankTimes& one : ranks) one.times.ran_ns = kTask_ns / 3;
  seen.begin();
  seen.add(ranks, false);
  EXPECT_NEAR(seen.share(), 1 / 3.0, 0.02);
  // Two ranks on one core by intention.
  seen.begin();
  seen.add({ranks[0], ranks[1]}, true);
  EXPECT_NEAR(seen.share(), 2 / 3.0, 0.02);
}

TEST(Disturbance, CountsThreadsOfAProcessOnce) {
  std::vector<RankTimes> ranks = crowd();
  for (RankTimes& one : ranks) {
    one.times.process = 1;
    one.times.ran_ns = kTask_ns;  // of the whole process
  }
  all(ranks, 2 * kTask_ns, kTask_ns);
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_NEAR(seen.share(), 0.5, 0.02);
}

TEST(Disturbance, IsAHypervisors) {
  std::vector<RankTimes> ranks = {rank(1), rank(2)};
  all(ranks, 2 * kTask_ns, kTask_ns);
  for (RankTimes& one : ranks) one.times.stolen_ns = kTask_ns / 2;
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_NEAR(seen.share(), 0.25, 0.01);
  EXPECT_NEAR(seen.use().stolen_s, 0.5, 1e-9);
}

TEST(Disturbance, IsNobodysWhereTheKernelWorks) {
  std::vector<RankTimes> ranks = {rank(1)};
  all(ranks, 2 * kTask_ns, kTask_ns / 2);  // a core of the kernel's own threads
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_NEAR(seen.use().others_s, 0, 1e-9);
  all(ranks, 2 * kTask_ns, 1.5 * kTask_ns);  // of a program
  seen.add(ranks, false);
  EXPECT_NEAR(seen.use().others_s, 1, 1e-9);
}

TEST(Disturbance, IsSeenOnBothMachines) {
  std::vector<RankTimes> ranks = {rank(1), rank(1)};
  ranks[1].kernel = 1;  // the same number, another process
  ranks[1].times.waited_ns = kTask_ns / 2;
  Disturbance seen;
  seen.add(ranks, false);
  EXPECT_NEAR(seen.share(), 0.5, 1e-9);
  EXPECT_EQ(seen.use().cores, 4);
}

}  // namespace
}  // namespace weft::device_measurements::disturbance_test
