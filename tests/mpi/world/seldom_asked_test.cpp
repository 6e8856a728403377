// Questions that are asked seldom: how often, and how soon a yes is noticed.
#include "mpi/world/seldom_asked.hpp"

#include <gtest/gtest.h>

namespace weft::mpi {
namespace {

/// A call of which the answer would be this. Whether it was asked.
bool call(SeldomAsked& question, bool yes) {
  if (!question.is_due()) return false;
  question.answered(yes);
  return true;
}

TEST(SeldomAsked, IsAskedLessAndLessWhereTheAnswerIsNo) {
  SeldomAsked question;
  int asked = 0;
  for (int i = 0; i < 10'000; ++i) asked += call(question, false);
  EXPECT_GE(asked, 10'000 / 128);
  EXPECT_LE(asked, 10'000 / 128 + 8);
}

TEST(SeldomAsked, NoticesEachYesOnceThereWasOne) {
  SeldomAsked question;
  for (int i = 0; i < 1000; ++i) call(question, false);
  int late = 0;
  while (!call(question, true)) ++late;
  EXPECT_LT(late, 128);
  // Long calls and short ones in turns.
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < i % 8; ++k) call(question, false);
    EXPECT_TRUE(call(question, true)) << i;
  }
  int asked = 0;
  for (int i = 0; i < 10'000; ++i) asked += call(question, false);
  EXPECT_LE(asked, 10'000 / 128 + 20);
}

}  // namespace
}  // namespace weft::mpi
